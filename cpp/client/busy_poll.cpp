#include "client/busy_poll.h"

#include <algorithm>

namespace holdfast::client {

namespace {

// Of a trial: as many readings of one way after the other, twice, sleeps first.
constexpr int kRun = 8;
constexpr int kTrial = 4 * kRun;
// Readings until the next trial: where looks have lost, twice as many each time; where they have
// won, as sleeps may have become shorter meanwhile.
constexpr int kFewestSleeps = 128;
constexpr int kMostSleeps = 4096;
constexpr int kLooks = 1024;
// Looks that are judged together.
constexpr int kWatched = 64;
// A longer reading counts as one of this time.
constexpr Duration kLongest = std::chrono::milliseconds(5);

}  // namespace

void BusyPoll::Sum::add(const Reading& reading) {
  took += std::min(reading.took, kLongest);
  ++count;
  found += reading.found ? 1 : 0;
  held_up = held_up || reading.held_up;
}

bool BusyPoll::turn_looks() const { return (slept_.count + looked_.count) / kRun % 2 == 1; }

void BusyPoll::measured(const Reading& reading) {
  if (phase_ == Phase::kLooks) {
    looked_.add(reading);
    return watch();
  }
  (turn_looks() ? looked_ : slept_).add(reading);
  // In vain: a second run of looks would be so, too.
  if (looked_.count == kRun && !looked_.pays()) return sleep();
  if (slept_.count + looked_.count < kTrial) return;
  // An eighth is for the CPU that looks take.
  if (!looked_.pays() || looked_.took > slept_.took - slept_.took / 8) return sleep();
  phase_ = Phase::kLooks;
  left_ = kLooks;
  looked_ = {};
}

void BusyPoll::sleep() {
  phase_ = Phase::kSleeps;
  left_ = sleeps_ = std::clamp(2 * sleeps_, kFewestSleeps, kMostSleeps);
}

void BusyPoll::watch() {
  --left_;
  const bool whole = looked_.count == kWatched;
  const bool shorter = looked_.took / looked_.count < slept_.took / slept_.count;
  if (looked_.held_up || (whole && !(looked_.pays() && shorter))) return sleep();
  if (whole) looked_ = {};
  if (left_ > 0) return;
  sleeps_ = 0;
  begin_trial();
}

}  // namespace holdfast::client
