#pragma once

#include <algorithm>
#include <cstdint>

#include "redis/base/clock.h"

namespace holdfast::sync {

// The time that a refused owner waits before the next attempt: a random time between bound /
// multiplier and bound. The bound begins with `initial` and grows by `multiplier` (1 or more) up to
// `maximum`
// (`initial` or more). With a multiplier of 1 all pauses are `initial`.
struct Backoff {
  Millis initial{1};
  Millis maximum{128};
  double multiplier = 2;
};

// Numbers from 0 to 1; the same seed gives the same ones. Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators" (2014).
class Jitter {
 public:
  explicit Jitter(std::uint64_t seed) : state_(seed) {}

  double next() {
    std::uint64_t bits = state_ += 0x9e3779b97f4a7c15U;
    bits = (bits ^ bits >> 30U) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ bits >> 27U) * 0x94d049bb133111ebU;
    return static_cast<double>((bits ^ bits >> 31U) >> 11U) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

// The pauses of one acquisition, one after the other. The same seed gives the same pauses. Never
// zero.
class BackoffSequence {
 public:
  BackoffSequence(const Backoff& backoff, std::uint64_t seed)
      : maximum_(ticks(backoff.maximum)),
        multiplier_(backoff.multiplier),
        bound_(ticks(backoff.initial)),
        jitter_(seed) {}

  Duration next() {
    const double least = bound_ / multiplier_;
    const double time = least + (bound_ - least) * jitter_.next();
    bound_ = std::min(bound_ * multiplier_, maximum_);
    return std::max(Duration(static_cast<Duration::rep>(time)), kLeast);
  }

 private:
  static constexpr Duration kLeast = std::chrono::microseconds(100);

  static double ticks(Duration duration) { return static_cast<double>(duration.count()); }

  double maximum_;  // in ticks, as bound_
  double multiplier_;
  double bound_;
  Jitter jitter_;
};

// How a waiter that came too late for a message lets others go first. A message wakes all clients
// that wait, and one of them gets the lock: where it is held for short times, the attempts of the
// others are most of what the server does. One that was refused therefore looks at no message for a
// random time, in which each of the others could make one attempt at most: then three or four
// commands belong to each grant, however many wait, and a lock that all stand back from is free for
// one attempt's time. Waiters of up to four clients do not: there it would cost more than it saves.
class StandBack {
 public:
  explicit StandBack(std::uint64_t seed) : jitter_(seed) {}

  // An attempt that followed a message, and took `exchange`, was refused. `others`: the other
  // clients that wait, by this client's last release; 0: it is not known.
  void refused(Duration exchange, std::int64_t others, TimePoint now) {
    ++refusals_;
    // A client that has released nothing concludes from its refusals that there are many. Among few
    // clients one meets as many refusals now and then: after its first release it knows better.
    if (others == 0) others = std::min(refusals_ / 2, kMany);
    if (others < kMany) return;
    const Duration longest = exchange < kLongest / others ? exchange * others : kLongest;
    until_ =
        now +
        Duration(static_cast<Duration::rep>(static_cast<double>(longest.count()) * jitter_.next()));
  }
  void end() { until_ = kNever; }
  void end_by(TimePoint now) {
    if (now >= until_) end();
  }
  bool under_way() const { return until_ != kNever; }
  TimePoint until() const { return until_; }  // kNever: it is not under way

 private:
  static constexpr std::int64_t kMany = 4;
  // A lock that becomes free while all others have gone waits no longer.
  static constexpr Duration kLongest{Millis(10)};

  Jitter jitter_;
  std::int64_t refusals_ = 0;
  TimePoint until_ = kNever;
};

}  // namespace holdfast::sync
