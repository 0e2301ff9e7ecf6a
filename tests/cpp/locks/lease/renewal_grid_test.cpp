// When holds are renewed: in time, those of a group together, and groups apart.

#include "locks/lease/renewal_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace holdfast::lease {
namespace {

constexpr Millis kLease{30000};
constexpr Millis kThird{10000};
constexpr TimePoint kNow = TimePoint(std::chrono::hours(1));
constexpr std::size_t kFew = 100;
constexpr std::size_t kMany = 100'000;

const RenewalGrid& grid() {
  static const RenewalGrid one("client");
  return one;
}

TEST(RenewalGridTest, TheFirstRenewalIsHardlyEarlyAndNeverLate) {
  for (const Millis lease : {Millis(3), Millis(100), kLease}) {
    const Duration third = Duration(lease) / 3;
    for (const std::size_t holds : {kFew, kMany}) {
      for (int i = 0; i < 2000; ++i) {
        const TimePoint sent = kNow + std::chrono::microseconds(1777 * i);
        const Duration pause = grid().first(sent, lease, holds) - sent;
        EXPECT_LE(pause, third);
        EXPECT_GE(pause, third * 15 / 16);
      }
    }
  }
}

TEST(RenewalGridTest, TheNextOneIsNeverLate) {
  for (std::uint32_t group = 0; group < 2000; ++group) {
    const Duration pause = grid().next(kNow, kLease, group, kMany) - kNow;
    EXPECT_GT(pause, Duration(0));
    EXPECT_LE(pause, kThird);
  }
}

TEST(RenewalGridTest, ARenewalAtItsMomentIsFollowedByTheOneAThirdLater) {
  for (std::uint32_t group = 0; group < 2000; ++group) {
    const TimePoint at = grid().next(kNow, kLease, group, kMany);
    for (const Duration late : {Duration(0), Duration(Millis(3))}) {
      EXPECT_EQ(grid().next(at + late, kLease, group, kMany), at + kLease / 3);
    }
  }
}

TEST(RenewalGridTest, HoldsOfAGroupAreTogetherWhereverTheyCameFrom) {
  const TimePoint at = grid().next(kNow, kLease, 7, kMany);
  for (TimePoint sent = at - kThird; sent < at; sent += Millis(77)) {
    EXPECT_EQ(grid().next(sent, kLease, 7, kMany), at);
  }
}

std::set<TimePoint> moments(std::uint32_t groups, std::size_t holds) {
  std::set<TimePoint> all;
  for (std::uint32_t group = 0; group < groups; ++group) {
    all.insert(grid().next(kNow, kLease, group, holds));
  }
  return all;
}

TEST(RenewalGridTest, FewHoldsAreAllTogether) { EXPECT_EQ(moments(50, 99).size(), 1U); }

TEST(RenewalGridTest, OfManyHoldsTheGroupsAreApart) {
  EXPECT_EQ(moments(20, 1000).size(), 16U);
  EXPECT_GE(moments(2000, kMany).size(), 1000U);
  EXPECT_GE(moments(20'000, 1'000'000).size(), 8000U);
}

TEST(RenewalGridTest, MomentsAreNoCloserThanTheTimersAreExact) {
  std::set<TimePoint> all;
  for (std::uint32_t group = 0; group < 20'000; ++group) {
    all.insert(grid().next(kNow, Millis(3000), group, 1'000'000));
  }
  EXPECT_LE(all.size(), 1000U);
}

TEST(RenewalGridTest, MostMomentsStayWhenHoldsBecomeMore) {
  const std::set<TimePoint> few = moments(100, 1000);
  const std::set<TimePoint> more = moments(100, 2000);
  EXPECT_TRUE(std::includes(more.begin(), more.end(), few.begin(), few.end()));
}

TEST(RenewalGridTest, ClientsHaveDifferentMoments) {
  std::set<TimePoint> all;
  for (int i = 0; i < 20; ++i) {
    all.insert(RenewalGrid("client " + std::to_string(i)).next(kNow, kLease, 0, 1));
  }
  EXPECT_GE(all.size(), 18U);
}

}  // namespace
}  // namespace holdfast::lease
