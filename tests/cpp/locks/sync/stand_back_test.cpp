// Where many clients wait, one whose attempt came too late for a message lets others go first.

#include "locks/sync/acquire_machine_fixture.h"

namespace holdfast::sync {
namespace {

constexpr int kTtl = 3000;
constexpr int kExchange = 2;
constexpr int kMany = 4;

class StandBackTest : public AcquireMachineTest {
 protected:
  StandBackTest() { wait({}); }

  // In the queue, awaiting a message.
  void wait(AcquireMachine::Options options) {
    options.yields = true;
    begin(options);
    EXPECT_EQ(start(), "try");
    EXPECT_EQ(held(kTtl), "join until 3002");
  }

  // The attempt is refused after kExchange.
  std::string too_late(std::int64_t others) {
    const TimePoint sent = at(now);
    now += kExchange;
    return answered({{Answer::Kind::kHeld, Millis(kTtl)}, kNever, sent, others});
  }

  // A message has come too late, where `others` wait.
  void stand_back(std::int64_t others = kMany) {
    EXPECT_EQ(signal(), "try");
    EXPECT_EQ(too_late(others).substr(0, 5), "sleep");
    EXPECT_FALSE(machine().listens());
    EXPECT_TRUE(machine().asleep());
  }
  // Where `others` wait it lasts so long at most, by whatever seed.
  void expect_within(std::int64_t others, int longest) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      AcquireMachine::Options options;
      options.seed = seed;
      now = 0;
      wait(options);
      stand_back(others);
      EXPECT_GE(last().until, at(now));
      EXPECT_LE(last().until, at(now + longest));
    }
  }
  // Its end, rounded up.
  void pass() { now = static_cast<int>(std::chrono::ceil<Millis>(last().until - kZero).count()); }
};

TEST_F(StandBackTest, OfFewClientsEachTriesAtEachMessage) {
  for (int message = 0; message < 2 * kMany - 1; ++message) {
    EXPECT_EQ(signal(), "try");
    EXPECT_EQ(too_late(kMany - 1).substr(0, 5), "sleep");
    EXPECT_TRUE(machine().listens());
  }
}

TEST_F(StandBackTest, OfManyItLooksAtNoMessageForAsLongAsTheAttemptsOfAllTake) {
  expect_within(kMany, kMany * kExchange);
}

TEST_F(StandBackTest, ItNeverTakesMoreThanTenMilliseconds) { expect_within(1'000'000, 10); }

TEST_F(StandBackTest, ThenItTriesIfAMessageHasComeMeanwhile) {
  stand_back();
  const TimePoint until = last().until;
  EXPECT_EQ(signal(), "go on");
  EXPECT_EQ(time(), "sleep" + text(until));
  pass();
  EXPECT_EQ(time(), "try");
}

TEST_F(StandBackTest, ElseItAwaitsTheNextOne) {
  stand_back();
  pass();
  EXPECT_EQ(time().substr(0, 5), "sleep");
  EXPECT_TRUE(machine().listens());
  EXPECT_EQ(signal(), "try");
}

TEST_F(StandBackTest, AMessageDuringTheAttemptDoesNotEndIt) {
  EXPECT_EQ(signal(), "try");
  EXPECT_EQ(signal(), "go on");
  EXPECT_EQ(too_late(kMany).substr(0, 5), "sleep");
  pass();
  EXPECT_EQ(time(), "try");
}

TEST_F(StandBackTest, AnOfferThatWasNeverSentIsNoAttemptThatCameTooLate) {
  EXPECT_EQ(offer(), "go on");
  EXPECT_EQ(signal(), "go on");
  EXPECT_EQ(answered({{Answer::Kind::kHeld, Millis(kTtl)}, kNever, {}, kMany}), "try");
}

TEST_F(StandBackTest, TheEndOfTheHoldersLeaseEndsIt) {
  EXPECT_EQ(signal(), "try");
  now = kTtl;
  const Response response{{Answer::Kind::kHeld, Millis(0)}, kNever, at(0), kMany};
  EXPECT_EQ(answered(response).substr(0, 5), "sleep");
  now += 2;  // kAfterExpiry
  EXPECT_EQ(time(), "try");
}

TEST_F(StandBackTest, AReleaseOfThisClientMayHandItTheLock) {
  stand_back();
  EXPECT_TRUE(machine().open_to_offers());
  EXPECT_EQ(offer(), "go on");
  EXPECT_EQ(offer_in_vain().substr(0, 5), "sleep");
  EXPECT_TRUE(machine().listens());
}

TEST_F(StandBackTest, AMessageMeanwhileIsForTheNextWaiterIfItGivesUp) {
  stand_back();
  EXPECT_EQ(signal(), "go on");
  EXPECT_EQ(cancel(), "cancelled");
  EXPECT_EQ(text(last().leave), "trying");
}

TEST_F(StandBackTest, OneThatHasReleasedNothingConcludesThatManyWaitFromItsRefusals) {
  for (int message = 1; message < 2 * kMany; ++message) {
    EXPECT_EQ(signal(), "try");
    EXPECT_EQ(too_late(0).substr(0, 5), "sleep");
    EXPECT_TRUE(machine().listens());
  }
  stand_back(0);
}

TEST_F(StandBackTest, KindsWithoutAQueueTryAtEachMessage) {
  AcquireMachine::Options options;
  begin(options);
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(held(kTtl), "join until 3002");
  EXPECT_EQ(signal(), "try");
  EXPECT_EQ(too_late(kMany).substr(0, 5), "sleep");
  EXPECT_TRUE(machine().listens());
}

}  // namespace
}  // namespace holdfast::sync
