#include "locks/sync/acquire_machine_fixture.h"

namespace holdfast::sync {
namespace {

TEST_F(AcquireMachineTest, AFreeLockIsGrantedAtOnce) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(granted(100), "granted");
  EXPECT_TRUE(machine().over());
  EXPECT_FALSE(machine().joined());
  EXPECT_FALSE(machine().unsettled());
}

TEST_F(AcquireMachineTest, AGrantThatArrivesAfterItsLeaseIsGivenBack) {
  EXPECT_EQ(start(), "try");
  now = 100;
  EXPECT_EQ(granted(100), "expired, give back");
}

TEST_F(AcquireMachineTest, WithoutBlockingAHeldLockIsBusy) {
  begin({false});
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(held(500), "busy");
  EXPECT_FALSE(machine().joined());
}

TEST_F(AcquireMachineTest, AHeldLockIsWaitedForInTheQueueAndTriedAgainAfterTheSubscription) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(held(500), "join until 502");
  EXPECT_EQ(signal(), "try");
  EXPECT_EQ(held(499), "sleep until 501");
  EXPECT_EQ(signal(), "try");
  EXPECT_EQ(granted(1000), "granted");
  EXPECT_TRUE(machine().joined());
  EXPECT_FALSE(machine().unsettled());
}

TEST_F(AcquireMachineTest, TheHeadTriesAgainTwoMillisecondsAfterTheHoldersTime) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(held(500), "join until 502");
  EXPECT_EQ(turn(502), "sleep until 502");
  now = 501;
  EXPECT_EQ(time(), "sleep until 502");
  now = 502;
  EXPECT_EQ(time(), "try");
}

TEST_F(AcquireMachineTest, ANewHeadTriesAtTheEarlierOfTheEndsThatItAndTheLastHeadHaveFound) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(held(500), "join until 502");
  EXPECT_EQ(turn(700), "sleep until 502");
  EXPECT_EQ(turn(300), "sleep until 300");
}

TEST_F(AcquireMachineTest, AKeyWithoutATimeLimitIsLookedAtAgainEveryFiveSeconds) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(held(-1), "join until 5000");
}

TEST_F(AcquireMachineTest, BehindOthersItQueuesUpWithoutAnAttempt) {
  begin({true, at(300)});
  EXPECT_EQ(queue_up(), "join until 300");
  EXPECT_TRUE(machine().open_to_offers());
  EXPECT_EQ(turn(200), "sleep until 200");
  now = 200;
  EXPECT_EQ(time(), "try until 300");
}

TEST_F(AcquireMachineTest, InTheQueueTheDeadlineCountsFromTheBeginning) {
  begin({true, at(300)});
  EXPECT_EQ(queue_up(), "join until 300");
  now = 300;
  EXPECT_EQ(time(), "timed out");
  EXPECT_FALSE(machine().unsettled());
}

TEST_F(AcquireMachineTest, BeforeTheFirstAnswerTheDeadlineDoesNotCount) {
  begin({true, at(300)});
  EXPECT_EQ(start(), "try");
  now = 400;
  EXPECT_EQ(time(), "sleep");
  EXPECT_EQ(held(500), "timed out");
}

TEST_F(AcquireMachineTest, AGrantAfterTheDeadlineIsAGrant) {
  begin({true, at(300)});
  EXPECT_EQ(start(), "try");
  now = 400;
  EXPECT_EQ(granted(1000), "granted");
}

TEST_F(AcquireMachineTest, ADeadlineDuringALaterAttemptGivesItBack) {
  begin({true, at(300)});
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(held(100), "join until 102");
  EXPECT_EQ(signal(), "try until 300");
  now = 300;
  EXPECT_EQ(time(), "timed out, give back");
  EXPECT_TRUE(machine().unsettled());
}

TEST_F(AcquireMachineTest, ATimeOutByAnAnswerKnowsHowLongItIsHeld) {
  begin({true, at(300)});
  EXPECT_EQ(queue_up(), "join until 300");
  EXPECT_EQ(signal(), "try until 300");
  now = 301;
  EXPECT_EQ(held(50), "timed out");
  EXPECT_EQ(last().until, at(353));
  EXPECT_FALSE(machine().unsettled());
}

TEST_F(AcquireMachineTest, ASignalDuringAnAttemptLeadsToAnother) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(held(500), "join until 502");
  EXPECT_EQ(signal(), "try");
  EXPECT_EQ(signal(), "go on");
  EXPECT_FALSE(machine().open_to_offers());
  EXPECT_EQ(held(500), "try");
  EXPECT_EQ(held(500), "sleep until 502");
}

TEST_F(AcquireMachineTest, ASignalDuringAGrantedAttemptIsLeftToTheNext) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(held(500), "join until 502");
  EXPECT_EQ(signal(), "try");
  EXPECT_EQ(signal(), "go on");
  EXPECT_EQ(granted(1000), "granted");
  EXPECT_TRUE(machine().unsettled());
}

TEST_F(AcquireMachineTest, ATurnDuringAnAttemptChangesNothing) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(turn(700), "go on");
  EXPECT_EQ(held(500), "join until 502");
}

TEST_F(AcquireMachineTest, LostHoldsEndAReentrantAttempt) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(gone(), "gone: a reentrant acquire did not find it on the server");
}

TEST_F(AcquireMachineTest, AnObjectionIsTheEndAndTakesBackWhatAnEarlierSendingGot) {
  start();
  EXPECT_EQ(answered({{Answer::Kind::kObjected, {}}}), "objected, give back");
}

TEST_F(AcquireMachineTest, AnOfferIsAnAttemptThatAnotherMakes) {
  EXPECT_EQ(queue_up(), "join");
  ASSERT_TRUE(machine().open_to_offers());
  EXPECT_EQ(offer(), "go on");
  EXPECT_FALSE(machine().open_to_offers());
  EXPECT_EQ(granted(1000), "granted");
}

TEST_F(AcquireMachineTest, AnOfferThatComesToNothingIsFollowedByAnAttempt) {
  EXPECT_EQ(queue_up(), "join");
  EXPECT_EQ(offer(), "go on");
  EXPECT_EQ(held(0), "sleep until 2");
  now = 2;
  EXPECT_EQ(time(), "try");
}

TEST_F(AcquireMachineTest, OffersAreForSleepersOfTheQueueOnly) {
  EXPECT_FALSE(machine().open_to_offers());
  EXPECT_EQ(start(), "try");
  EXPECT_FALSE(machine().open_to_offers());
  EXPECT_EQ(held(500), "join until 502");
  EXPECT_TRUE(machine().open_to_offers());
  EXPECT_EQ(cancel(), "cancelled");
  EXPECT_FALSE(machine().open_to_offers());
}

TEST_F(AcquireMachineTest, ARefusalIsTriedAgainAfterARest) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(refused(), "sleep until 50");
  now = 50;
  EXPECT_EQ(time(), "try");
  EXPECT_EQ(granted(1000), "granted");
}

TEST_F(AcquireMachineTest, AnAttemptThatMayHaveBeenExecutedBeforeItsRefusalIsGivenBack) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(refused(true), "sleep until 50");
  EXPECT_EQ(cancel(), "cancelled, give back");
}

TEST_F(AcquireMachineTest, AnAnswerAfterTheRefusalSettlesWhatWasExecutedBefore) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(refused(true), "sleep until 50");
  now = 50;
  EXPECT_EQ(time(), "try");
  EXPECT_EQ(held(500), "join until 552");
  EXPECT_EQ(cancel(), "cancelled");
}

TEST_F(AcquireMachineTest, RefusalsEndWithTheRefusalBudget) {
  begin({true, kNever, Millis(100)});
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(refused(), "sleep until 50");
  now = 50;
  EXPECT_EQ(time(), "try");
  EXPECT_EQ(refused(), "sleep until 100");
  now = 100;
  EXPECT_EQ(time(), "try");
  EXPECT_EQ(refused(), "failed: loading");
  EXPECT_TRUE(machine().unsettled());
}

TEST_F(AcquireMachineTest, WithADeadlineRefusalsEndThereAndNotWithTheRefusalBudget) {
  begin({true, at(200), Millis(100)});
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(refused(), "sleep until 50");
  now = 150;
  EXPECT_EQ(time(), "try");
  EXPECT_EQ(refused(), "sleep until 200");
  now = 200;
  EXPECT_EQ(time(), "timed out: loading");
}

TEST_F(AcquireMachineTest, WithoutBlockingRefusalsEndWithTheRefusalBudgetWhateverTheDeadline) {
  begin({false, at(500), Millis(100)});
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(refused(), "sleep until 50");
  now = 100;
  EXPECT_EQ(time(), "try");
  EXPECT_EQ(refused(), "failed: loading");
}

TEST_F(AcquireMachineTest, AnAnswerEndsTheCountOfRefusals) {
  begin({true, kNever, Millis(100)});
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(refused(), "sleep until 50");
  now = 50;
  EXPECT_EQ(time(), "try");
  EXPECT_EQ(held(48), "join until 100");
  now = 100;
  EXPECT_EQ(signal(), "try");
  EXPECT_EQ(refused(), "sleep until 150");
}

TEST_F(AcquireMachineTest, AFailureMayHaveLeftAGrantBehind) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(failed(true), "failed, give back: no server");
}

TEST_F(AcquireMachineTest, AKnownFailureHasLeftNothingBehind) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(failed(false), "failed: no server");
}

TEST_F(AcquireMachineTest, AFailureOfASleeperHasLeftNothingBehind) {
  EXPECT_EQ(queue_up(), "join");
  EXPECT_EQ(failed(true), "failed: no server");
  EXPECT_FALSE(machine().unsettled());
}

TEST_F(AcquireMachineTest, CancelledDuringAnAttemptItGivesBack) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(cancel(), "cancelled, give back");
  EXPECT_TRUE(machine().unsettled());
}

TEST_F(AcquireMachineTest, CancelledDuringAnOfferItGivesBack) {
  EXPECT_EQ(queue_up(), "join");
  EXPECT_EQ(offer(), "go on");
  EXPECT_EQ(cancel(), "cancelled, give back");
}

TEST_F(AcquireMachineTest, CancelledAsleepItHasNothingToGiveBack) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(held(500), "join until 502");
  EXPECT_EQ(cancel(), "cancelled");
  EXPECT_FALSE(machine().unsettled());
}

TEST_F(AcquireMachineTest, NothingFollowsTheEnd) {
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(cancel(), "cancelled, give back");
  EXPECT_EQ(granted(1000), "go on");
  EXPECT_FALSE(machine().open_to_offers());
  EXPECT_EQ(start(), "go on");
  EXPECT_EQ(time(), "go on");
  EXPECT_EQ(cancel(), "go on");
}

// In line: the server keeps a place for a waiter that it refused.

TEST_F(AcquireMachineTest, APlaceInLineIsGivenBackAfterATimeOut) {
  begin({true, at(500), Millis(5000), true});
  start();
  EXPECT_EQ(held(100), "join until 102");
  now = 500;
  EXPECT_EQ(time(), "timed out, give back");
}

TEST_F(AcquireMachineTest, APlaceInLineIsGivenBackByACancelledSleeper) {
  begin({true, kNever, Millis(5000), true});
  start();
  held(100);
  EXPECT_EQ(cancel(), "cancelled, give back");
}

TEST_F(AcquireMachineTest, APlaceInLineIsGivenBackAfterAFailure) {
  begin({true, kNever, Millis(5000), true});
  start();
  held(100);
  EXPECT_EQ(failed(false), "failed, give back: no server");
}

TEST_F(AcquireMachineTest, AWaiterThatWasNotRefusedHasNoPlace) {
  begin({true, kNever, Millis(5000), true});
  start();
  EXPECT_EQ(failed(false), "failed: no server");
}

TEST_F(AcquireMachineTest, AGrantTakesThePlaceWithIt) {
  begin({true, kNever, Millis(5000), true});
  start();
  held(100);
  now = 102;
  EXPECT_EQ(time(), "try");
  EXPECT_EQ(granted(1000), "granted");
}

TEST_F(AcquireMachineTest, InLineItTriesAgainAtEachCall) {
  begin({true, kNever, Millis(5000), true});
  start();
  EXPECT_EQ(held(100), "join until 102");
  for (int round = 1; round <= 3; ++round) {
    now = 102 * round;
    EXPECT_EQ(time(), "try");
    EXPECT_EQ(held(100), "sleep until " + std::to_string(now + 102));
  }
}

}  // namespace
}  // namespace holdfast::sync
