#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

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

// The pauses of one acquisition, one after the other. The same seed gives the same pauses. Never
// zero.
class BackoffSequence {
 public:
  BackoffSequence(const Backoff& backoff, std::uint64_t seed)
      : maximum_(ticks(backoff.maximum)),
        multiplier_(backoff.multiplier),
        bound_(ticks(backoff.initial)),
        state_(seed) {}

  Duration next() {
    const double least = bound_ / multiplier_;
    const double time = least + (bound_ - least) * random();
    bound_ = std::min(bound_ * multiplier_, maximum_);
    return std::max(Duration(static_cast<Duration::rep>(time)), kLeast);
  }

 private:
  static constexpr Duration kLeast = std::chrono::microseconds(100);

  static double ticks(Duration duration) { return static_cast<double>(duration.count()); }

  // From 0 to 1. Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
  double random() {
    std::uint64_t bits = state_ += 0x9e3779b97f4a7c15U;
    bits = (bits ^ bits >> 30U) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ bits >> 27U) * 0x94d049bb133111ebU;
    return static_cast<double>((bits ^ bits >> 31U) >> 11U) * 0x1p-53;
  }

  double maximum_;  // in ticks, as bound_
  double multiplier_;
  double bound_;
  std::uint64_t state_;
};

}  // namespace holdfast::sync
