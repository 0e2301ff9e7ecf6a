#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "redis/base/clock.h"
#include "redis/base/stats.h"

namespace holdfast::client {

// Whether a thread looks for a reply without a sleep before it sleeps (spin, then sleep). On an
// idle machine, a virtual one above all, more than half of a short round trip is the price of a CPU
// that goes to sleep and is woken. On a busy one a look takes the CPU from the server, or from
// others, who take it back for longer. So both ways are compared: a *trial* makes a few readings of
// each in turns, and the way that took less time is used until the next trial. Looks win only where
// most of them find the reply, since a server may be farther away than a look, in time, and end at
// once when the system takes the CPU from one. Each time that they lose, they are tried again
// later. A machine without I/O and without a clock; not thread-safe: by the thread that reads the
// stream.
class BusyPoll {
 public:
  // The longest look.
  static constexpr Duration kLook = std::chrono::microseconds(150);
  // A look that stands still for so long has lost the CPU.
  static constexpr Duration kHeldUp = std::chrono::microseconds(50);

  // `allowed`: else no reading ever looks, nor is measured.
  explicit BusyPoll(bool allowed) : phase_(allowed ? Phase::kTrial : Phase::kNever) {}

  // Whether the time of the next reading is to be reported. To be asked once for each.
  bool measures() {
    if (phase_ != Phase::kSleeps) return phase_ != Phase::kNever;
    if (--left_ == 0) begin_trial();
    return left_ == 0;
  }
  // It looks first.
  bool looks() const {
    return phase_ == Phase::kLooks || (phase_ == Phase::kTrial && turn_looks());
  }
  // The result of a reading.
  struct Reading {
    Duration took{};
    bool found = false;    // by its look
    bool held_up = false;  // the look, for kHeldUp
  };
  void measured(const Reading& reading);

  // The time of the machine, since a look costs CPU, whatever clock the client has.
  using Time = std::chrono::steady_clock;
  // Calls `find` until it returns true, for kLook at most; counts the look.
  template <typename Find>
  static void look(Time::time_point begun, Reading& reading, Stats& stats, const Find& find) {
    for (Duration took{}; !reading.found && took < kLook;) {
      reading.found = find();
      const Duration before = std::exchange(took, Time::now() - begun);
      reading.held_up = reading.held_up || took - before > kHeldUp;
    }
    stats.add(Stats::Counter::kBusyPolls);
    if (reading.found) stats.add(Stats::Counter::kBusyPollsRight);
  }

 private:
  enum class Phase : std::uint8_t { kNever, kTrial, kSleeps, kLooks };
  // Readings of each way in a trial.
  static constexpr int kEach = 16;

  // The results of looks, in a trial or since the last judgement.
  struct Looks {
    int count = 0;
    int found = 0;
    int quicker = 0;  // than half of the sleeps of the trial
    bool held_up = false;
  };

  void watch(const Reading& reading);
  void judge();
  bool turn_looks() const;
  void begin_trial() {
    phase_ = Phase::kTrial;
    sleeps_ = 0;
    looks_ = {};
  }
  void sleep();

  Phase phase_;
  // The times of the trial, and how many of each there are so far.
  std::array<Duration, kEach> slept_{};
  std::array<Duration, kEach> looked_{};
  int sleeps_ = 0;
  Looks looks_;
  Duration half_{};  // within which half of the sleeps had their reply
  int left_ = 0;     // readings until the next trial
  int rest_ = 0;     // how many there were after the latest trial that looks have lost
};

}  // namespace holdfast::client
