#include <gtest/gtest.h>

#include <optional>

#include "redis/topology/slots_query.h"
#include "support/manual_clock.h"

namespace holdfast::topology {
namespace {

class TopologyRefreshTest : public ::testing::Test {
 protected:
  std::optional<std::size_t> next() { return refresh.next(clock.now()); }
  bool due() { return refresh.due(clock.now()); }

  // A whole round that fails, or finds nothing new.
  void fail() {
    refresh.begin(1);
    next();
    refresh.failed(clock.now());
  }
  Duration rest() { return refresh.until() - clock.now(); }

  TopologyRefresh refresh;
  ManualClock clock;
};

TEST_F(TopologyRefreshTest, NoServerIsQueriedUnlessARefreshIsWanted) {
  EXPECT_FALSE(due());
  EXPECT_EQ(refresh.until(), kNever);
  refresh.want();
  EXPECT_TRUE(due());
}

TEST_F(TopologyRefreshTest, OneAfterAnotherIsAsked) {
  refresh.begin(3);
  EXPECT_EQ(next(), 0U);
  EXPECT_EQ(next(), std::nullopt);
  clock.advance(refresh.until() - clock.now());
  EXPECT_EQ(next(), 1U);
  refresh.failed(clock.now());
  refresh.failed(clock.now());
  EXPECT_EQ(next(), 2U);
  EXPECT_EQ(next(), std::nullopt);
}

TEST_F(TopologyRefreshTest, TheFirstAnswerEndsTheRound) {
  refresh.begin(3);
  next();
  refresh.answered(true, clock.now());
  EXPECT_FALSE(refresh.querying());
  EXPECT_EQ(next(), std::nullopt);
  EXPECT_EQ(refresh.until(), kNever);
}

TEST_F(TopologyRefreshTest, ALateFailureOfAnEndedRoundIsNothing) {
  refresh.begin(1);
  next();
  refresh.answered(true, clock.now());
  refresh.failed(clock.now());
  EXPECT_EQ(refresh.failed_rounds(), 0);
}

TEST_F(TopologyRefreshTest, ARoundWithoutAnAnswerIsRepeatedLessAndLessOften) {
  refresh.want();
  fail();
  const Duration first = rest();
  EXPECT_GT(first, Duration::zero());
  EXPECT_FALSE(due());
  clock.advance(first);
  EXPECT_TRUE(due());
  fail();
  EXPECT_EQ(rest(), first * 2);
  for (int i = 0; i < 20; ++i) fail();
  EXPECT_EQ(rest(), Duration(Millis(500)));
  EXPECT_EQ(refresh.failed_rounds(), 22);
}

TEST_F(TopologyRefreshTest, ARefreshWantedDuringARoundFollowsIt) {
  refresh.begin(1);
  next();
  refresh.want();
  EXPECT_FALSE(due());
  refresh.answered(true, clock.now());
  EXPECT_FALSE(due());
  clock.advance(refresh.until() - clock.now());
  EXPECT_TRUE(due());
}

TEST_F(TopologyRefreshTest, AnswersWithoutAChangeMakeItWaitLonger) {
  const auto ask = [&](bool changed) {
    refresh.begin(1);
    next();
    refresh.want();
    refresh.answered(changed, clock.now());
    return rest();
  };
  const Duration first = ask(false);
  EXPECT_EQ(ask(false), first * 2);
  EXPECT_EQ(ask(true), first);
}

TEST_F(TopologyRefreshTest, ARoundThatIsNotWantedAnyMoreIsNotRepeated) {
  refresh.want();
  fail();
  refresh.stop();
  EXPECT_EQ(refresh.until(), kNever);
}

}  // namespace
}  // namespace holdfast::topology
