#include "redis/base/stats.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using Counter = Stats::Counter;
using Timing = Stats::Timing;

TEST(Stats, BeginWithNothing) {
  const Stats stats;
  for (int i = 0; i < static_cast<int>(Counter::kCounters); ++i) {
    EXPECT_EQ(stats.total(static_cast<Counter>(i)), 0);
  }
  EXPECT_EQ(stats.histogram(Timing::kWait).sum, Duration::zero());
}

TEST(Stats, AddUpWhatManyThreadsCount) {
  constexpr int kThreads = 20;  // more than there are shards
  constexpr int kTimes = 1000;
  Stats stats;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&stats] {
      for (int n = 0; n < kTimes; ++n) {
        stats.add(Counter::kAcquired);
        stats.add(Counter::kCommands, 2);
        stats.add(Timing::kHeld, Millis(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stats.total(Counter::kAcquired), kThreads * kTimes);
  EXPECT_EQ(stats.total(Counter::kCommands), 2 * kThreads * kTimes);
  EXPECT_EQ(stats.histogram(Timing::kHeld).sum, kThreads * kTimes * Duration(Millis(1)));
  EXPECT_EQ(stats.total(Counter::kReleased), 0);
}

TEST(Stats, CountWhatIsThereNowWhateverThreadEndsIt) {
  Stats stats;
  stats.add(Counter::kHeld);
  std::thread([&stats] { stats.add(Counter::kHeld, -1); }).join();
  EXPECT_EQ(stats.total(Counter::kHeld), 0);
}

TEST(Stats, PutATimeIntoTheFirstBucketWhoseBoundItDoesNotExceed) {
  Stats stats;
  stats.add(Timing::kWait, Duration::zero());
  stats.add(Timing::kWait, Duration(Stats::kUpTo[3]));
  stats.add(Timing::kWait, Duration(Stats::kUpTo[3] + 1));
  stats.add(Timing::kWait, Duration(Stats::kUpTo.back() + 1));
  const Stats::Histogram waits = stats.histogram(Timing::kWait);
  EXPECT_EQ(waits.counts[0], 1);
  EXPECT_EQ(waits.counts[3], 1);
  EXPECT_EQ(waits.counts[4], 1);
  EXPECT_EQ(waits.counts.back(), 1);
  EXPECT_EQ(std::accumulate(waits.counts.begin(), waits.counts.end(), 0), 4);
  EXPECT_EQ(waits.sum, Duration(2 * Stats::kUpTo[3] + Stats::kUpTo.back() + 2));
  EXPECT_EQ(stats.histogram(Timing::kHeld).sum, Duration::zero());
}

TEST(Stats, HaveGrowingBounds) {
  for (std::size_t i = 1; i < Stats::kBounds; ++i) EXPECT_LT(Stats::kUpTo[i - 1], Stats::kUpTo[i]);
}

}  // namespace
}  // namespace holdfast
