#include "topology/survey.h"

#include <gtest/gtest.h>

#include <optional>

namespace holdfast::topology {
namespace {

class SurveyTest : public ::testing::Test {
 protected:
  std::optional<std::size_t> next() { return survey.next(clock.now()); }
  bool due() { return survey.due(clock.now()); }

  // A whole round that fails, or finds nothing new.
  void fail() {
    survey.begin(1);
    next();
    survey.failed(clock.now());
  }
  Duration rest() { return survey.until() - clock.now(); }

  Survey survey;
  ManualClock clock;
};

TEST_F(SurveyTest, NobodyIsAskedUnlessNewsAreWanted) {
  EXPECT_FALSE(due());
  EXPECT_EQ(survey.until(), kNever);
  survey.want();
  EXPECT_TRUE(due());
}

TEST_F(SurveyTest, OneAfterAnotherIsAsked) {
  survey.begin(3);
  EXPECT_EQ(next(), 0U);
  EXPECT_EQ(next(), std::nullopt);
  clock.advance(survey.until() - clock.now());
  EXPECT_EQ(next(), 1U);
  survey.failed(clock.now());
  survey.failed(clock.now());
  EXPECT_EQ(next(), 2U);
  EXPECT_EQ(next(), std::nullopt);
}

TEST_F(SurveyTest, TheFirstAnswerEndsTheRound) {
  survey.begin(3);
  next();
  survey.answered(true, clock.now());
  EXPECT_FALSE(survey.asking());
  EXPECT_EQ(next(), std::nullopt);
  EXPECT_EQ(survey.until(), kNever);
}

TEST_F(SurveyTest, ALateFailureOfAnEndedRoundIsNothing) {
  survey.begin(1);
  next();
  survey.answered(true, clock.now());
  survey.failed(clock.now());
  EXPECT_EQ(survey.failed_rounds(), 0);
}

TEST_F(SurveyTest, ARoundInWhichNobodyCanSayIsRepeatedEverMoreSeldom) {
  survey.want();
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
  EXPECT_EQ(survey.failed_rounds(), 22);
}

TEST_F(SurveyTest, NewsWantedDuringARoundAreAskedForAfterIt) {
  survey.begin(1);
  next();
  survey.want();
  EXPECT_FALSE(due());
  survey.answered(true, clock.now());
  EXPECT_FALSE(due());
  clock.advance(survey.until() - clock.now());
  EXPECT_TRUE(due());
}

TEST_F(SurveyTest, AnswersWithoutNewsMakeItWaitLonger) {
  const auto ask = [&](bool news) {
    survey.begin(1);
    next();
    survey.want();
    survey.answered(news, clock.now());
    return rest();
  };
  const Duration first = ask(false);
  EXPECT_EQ(ask(false), first * 2);
  EXPECT_EQ(ask(true), first);
}

TEST_F(SurveyTest, WhatNobodyWantsAnyMoreIsNotRepeated) {
  survey.want();
  fail();
  survey.stop();
  EXPECT_EQ(survey.until(), kNever);
}

}  // namespace
}  // namespace holdfast::topology
