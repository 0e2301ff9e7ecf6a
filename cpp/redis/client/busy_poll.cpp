#include "redis/client/busy_poll.h"

#include <algorithm>

namespace holdfast::client {

namespace {

// A trial makes as many readings of one way after the other, twice, sleeps first.
constexpr int kRun = 8;
// Readings until the next trial: where looks have lost, twice as many each time; where they have
// won, as sleeps may have become shorter meanwhile.
constexpr int kFewestSleeps = 128;
constexpr int kMostSleeps = 4096;
constexpr int kLooks = 1024;
// Looks that are judged together.
constexpr int kWatched = 64;

bool most(int of, int count) { return 4 * of >= 3 * count; }

}  // namespace

bool BusyPoll::turn_looks() const { return (sleeps_ + looks_.count) / kRun % 2 == 1; }

void BusyPoll::measured(const Reading& reading) {
  if (phase_ == Phase::kLooks) return watch(reading);
  if (turn_looks()) {
    looked_[static_cast<std::size_t>(looks_.count++)] = reading.took;
    looks_.found += reading.found ? 1 : 0;
    looks_.held_up = looks_.held_up || reading.held_up;
  } else {
    slept_[static_cast<std::size_t>(sleeps_++)] = reading.took;
  }
  // In vain: a second run of looks would be so, too.
  const bool in_vain = looks_.held_up || !most(looks_.found, looks_.count);
  if (in_vain && looks_.count == kRun) return sleep();
  if (sleeps_ == kEach && looks_.count == kEach) judge();
}

// By the half of the sleeps, since a single one may have waited for the CPU for milliseconds.
void BusyPoll::judge() {
  auto* const middle = slept_.begin() + kEach / 2;
  std::nth_element(slept_.begin(), middle, slept_.end());
  half_ = *middle;
  // An eighth is for the CPU that looks take.
  const Duration enough = half_ - half_ / 8;
  const auto quicker = std::count_if(looked_.begin(), looked_.end(),
                                     [enough](Duration took) { return took < enough; });
  const bool win = most(static_cast<int>(quicker), kEach) && most(looks_.found, kEach);
  if (!win || looks_.held_up) return sleep();
  phase_ = Phase::kLooks;
  left_ = kLooks;
  looks_ = {};
}

void BusyPoll::sleep() {
  phase_ = Phase::kSleeps;
  left_ = rest_ = std::clamp(2 * rest_, kFewestSleeps, kMostSleeps);
}

void BusyPoll::watch(const Reading& reading) {
  ++looks_.count;
  looks_.found += reading.found ? 1 : 0;
  looks_.quicker += reading.took < half_ ? 1 : 0;
  if (reading.held_up) return sleep();
  if (looks_.count == kWatched) {
    if (!most(looks_.found, kWatched) || !most(looks_.quicker, kWatched)) return sleep();
    looks_ = {};
  }
  if (--left_ > 0) return;
  rest_ = 0;
  begin_trial();
}

}  // namespace holdfast::client
