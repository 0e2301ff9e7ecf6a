#include <gtest/gtest.h>

#include <string>

#include "locks/lease/hold_events.h"
#include "locks/lease/keeper_fixture.h"

namespace holdfast::lease {
namespace {

constexpr Millis kMinute{60'000};
constexpr TimePoint kStart{std::chrono::hours(1)};

TEST(NoticeLimitTest, ANameIsAdmittedOnceAMinute) {
  NoticeLimit limit;
  EXPECT_TRUE(limit.admits("lock", kStart));
  EXPECT_FALSE(limit.admits("lock", kStart));
  EXPECT_FALSE(limit.admits("lock", kStart + kMinute - Duration(1)));
  EXPECT_TRUE(limit.admits("lock", kStart + kMinute));
  EXPECT_FALSE(limit.admits("lock", kStart + kMinute + Duration(1)));
}

TEST(NoticeLimitTest, NamesDoNotCountForEachOther) {
  NoticeLimit limit;
  EXPECT_TRUE(limit.admits("one", kStart));
  EXPECT_TRUE(limit.admits("other", kStart + kMinute / 2));
  EXPECT_TRUE(limit.admits("one", kStart + kMinute));
  EXPECT_FALSE(limit.admits("other", kStart + kMinute));
}

TEST(NoticeLimitTest, OfManyNamesTheOldestAreForgotten) {
  NoticeLimit limit;
  for (std::size_t i = 0; i <= NoticeLimit::kMostNames; ++i) {
    EXPECT_TRUE(limit.admits(std::to_string(i), kStart));
  }
  EXPECT_FALSE(limit.admits("1", kStart));
  EXPECT_TRUE(limit.admits("0", kStart));
}

TEST_F(LeaseKeeperTest, AnOverlongHoldIsReportedOnceAMinuteHoweverManyWait) {
  for (int waits = 0; waits < 100; ++waits) {
    keeper().notices.overlong({name, kAlice}, Millis(3'600'000));
    keeper().notices.overlong({name, kBob}, Millis(3'600'000));
  }
  EXPECT_EQ(events.size(), 1U);
  const LockName other("other");
  keeper().notices.overlong({other, kAlice}, Millis(3'600'000));
  EXPECT_EQ(events.size(), 2U);
  pass(kMinute);
  keeper().notices.overlong({name, kBob}, Millis(3'600'000));
  EXPECT_EQ(events.size(), 3U);
}

}  // namespace
}  // namespace holdfast::lease
