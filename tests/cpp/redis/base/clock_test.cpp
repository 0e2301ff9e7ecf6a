#include "redis/base/clock.h"

#include <gtest/gtest.h>

#include <ctime>

#include "support/manual_clock.h"

namespace holdfast {
namespace {

Duration read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

TEST(SystemClock, CountsSuspendAndNeverGoesBack) {
  const SystemClock clock;
  TimePoint last = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const Duration before = read(CLOCK_BOOTTIME);
    const TimePoint now = clock.now();
    EXPECT_GE(now.time_since_epoch(), before);
    EXPECT_LE(now.time_since_epoch(), read(CLOCK_BOOTTIME));
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(ManualClock, MovesByHandOnly) {
  ManualClock clock;
  const TimePoint start = clock.now();
  EXPECT_EQ(clock.now(), start);
  clock.advance(Millis(5));
  EXPECT_EQ(clock.now() - start, Millis(5));
}

TEST(After, StopsAtTheEndOfTime) {
  const TimePoint now(std::chrono::hours(10));
  EXPECT_EQ(after(now, Millis(1)), now + Millis(1));
  EXPECT_EQ(after(now, Duration::max()), kNever);
  EXPECT_EQ(after(now, kNever - now), kNever);
  EXPECT_EQ(after(now, kNever - now - Duration(1)), kNever - Duration(1));
}

}  // namespace
}  // namespace holdfast
