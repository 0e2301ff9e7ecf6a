#include "base/clock.h"

#include <ctime>

namespace holdfast {
namespace {

clockid_t best_clock() {
#ifdef CLOCK_BOOTTIME
  timespec probe{};
  if (clock_gettime(CLOCK_BOOTTIME, &probe) == 0) return CLOCK_BOOTTIME;
#endif
  return CLOCK_MONOTONIC;
}

}  // namespace

TimePoint SystemClock::now() const {
  static const clockid_t clock = best_clock();
  timespec time{};
  clock_gettime(clock, &time);
  return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

}  // namespace holdfast
