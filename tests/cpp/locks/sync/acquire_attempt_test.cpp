// An attempt by its machine: whether it is made at once or in the queue, what is sent, how a
// refusal is judged, what is left to be released.

#include "locks/sync/acquire_machine_fixture.h"

namespace holdfast::sync {
namespace {

// ---- in the queue, or at once

class NewcomerTest : public AcquireMachineTest {
 protected:
  NewcomerTest() {
    AcquireMachine::Options options;
    options.deadline = at(300);
    options.yields = true;
    begin(options);
  }
};

TEST_F(NewcomerTest, TriesAtOnceWhereNoneGoesFirst) { EXPECT_EQ(ahead(at(0)), "try"); }

TEST_F(NewcomerTest, QueuesUpBehindOthersOfItsClient) {
  EXPECT_EQ(ahead(kNever), "join until 300");
  EXPECT_TRUE(last().afresh);  // they may be gone before it stands in line
}

TEST_F(NewcomerTest, WaitsInTheQueueForTheTurnOfOtherClients) {
  EXPECT_EQ(ahead(at(100)), "join until 100");
  EXPECT_FALSE(last().afresh);
  now = 100;
  EXPECT_EQ(time(), "try");
}

TEST_F(NewcomerTest, TriesOnceThoughItsTimerComesAfterTheDeadline) {
  EXPECT_EQ(ahead(at(100)), "join until 100");
  now = 400;
  EXPECT_EQ(time(), "try");
  EXPECT_EQ(time(), "sleep");
}

TEST_F(NewcomerTest, DoesNotWaitForATurnThatLastsUntilItsDeadline) {
  EXPECT_EQ(ahead(at(300)), "try");
}

TEST_F(NewcomerTest, WaitsInTheQueueForAReleaseInFlight) {
  driver.place.release_in_flight = true;
  EXPECT_EQ(ahead(at(0), true), "join until 300");
  EXPECT_FALSE(last().afresh);
  EXPECT_EQ(signal(), "try");
}

TEST_F(NewcomerTest, TriesOnceWhereTheReleaseIsNotAnsweredByTheDeadline) {
  driver.place.release_in_flight = true;
  EXPECT_EQ(ahead(at(0), true), "join until 300");
  now = 300;
  EXPECT_EQ(time(), "try");
}

TEST_F(NewcomerTest, TriesWhereTheAnswerCameBeforeItStoodInLine) {
  EXPECT_EQ(ahead(at(0), true), "join, try");
}

TEST_F(NewcomerTest, TriesWhereAMessageCameBeforeItStoodInLine) {
  driver.place.where = wait::WaitRegistry::Place::kTryNow;
  EXPECT_EQ(ahead(kNever), "join, try until 300");
}

TEST_F(NewcomerTest, BehindAnotherItWaitsForItsTurn) {
  driver.place.where = wait::WaitRegistry::Place::kQueued;
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(held(100), "join until 300");
  EXPECT_EQ(turn(200), "sleep until 200");
}

TEST_F(NewcomerTest, WaitsForNoneWithANestedHold) { EXPECT_EQ(ahead(kNever, true, true), "try"); }

// ---- what is sent

TEST_F(AcquireMachineTest, AnAttemptIsForOneHoldMore) {
  driver.begun.count = 3;
  start();
  EXPECT_EQ(last().count, 3);
}

TEST_F(AcquireMachineTest, ALaterAttemptIsForTheHoldOfTheFirst) {
  driver.begun.count = 2;
  start();
  held(100);
  driver.begun.count = 1;
  signal();
  EXPECT_EQ(last().count, 2);
}

TEST_F(AcquireMachineTest, AnAttemptThatWasSentAlreadyGoesOn) {
  machine().sent({2});
  EXPECT_EQ(held(500), "join until 502");
  signal();
  EXPECT_EQ(last().count, 2);
}

TEST_F(AcquireMachineTest, TheGrantIsRecordedWithItsCountAndTheTimeOfItsCommand) {
  driver.begun.count = 2;
  start();
  EXPECT_EQ(answered({{Answer::Kind::kGranted, {}, 7}, at(1000), at(5)}), "granted");
  EXPECT_EQ(last().count, 2);
  EXPECT_EQ(last().sent, at(5));
  EXPECT_EQ(last().value, 7);
}

TEST_F(AcquireMachineTest, APatienceThatIsGivenIsTheOneOfTheFirstAttempt) {
  AcquireMachine::Options options;
  options.deadline = at(500);
  options.connect_deadline = at(40);
  begin(options);
  start();
  EXPECT_EQ(last().connect_deadline, at(40));
  held(100);
  signal();
  EXPECT_EQ(last().connect_deadline, kNever);  // the deadline counts
}

// ---- how a refusal is judged

TEST_F(AcquireMachineTest, AnOfferInVainDoesNotSettleWhatAnEarlierAttemptDid) {
  start();
  held(500);
  signal();
  refused(true);
  ASSERT_TRUE(machine().open_to_offers());
  offer();
  EXPECT_EQ(offer_in_vain(), "sleep until 2");
  EXPECT_EQ(cancel(), "cancelled, give back");
}

TEST_F(AcquireMachineTest, AnOfferThatIsGrantedSettlesWhatAnEarlierAttemptDid) {
  start();
  held(500);
  signal();
  refused(true);
  offer();
  EXPECT_EQ(offer_granted(), "granted");
}

// ---- what is left to be released

TEST_F(AcquireMachineTest, WhatIsGivenBackLeavesTheHoldsFromBefore) {
  driver.begun.count = 3;
  start();
  EXPECT_EQ(cancel(), "cancelled, give back");
  EXPECT_EQ(last().take_back, 2);
}

TEST_F(AcquireMachineTest, AnOfferIsForTheFirstHold) {
  queue_up();
  offer();
  EXPECT_EQ(cancel(), "cancelled, give back");
  EXPECT_EQ(last().take_back, 0);
}

TEST_F(AcquireMachineTest, AReleaseThatWasTakenOverIsPendingUntilTheServerAnswers) {
  driver.begun.takes_over = true;
  start();
  EXPECT_EQ(failed(false), "failed, give back: no server");
}

TEST_F(AcquireMachineTest, AnAnswerSettlesTheReleaseThatWasTakenOver) {
  driver.begun.takes_over = true;
  start();
  held(500);
  EXPECT_TRUE(last().settled);
  driver.begun.takes_over = false;
  EXPECT_EQ(cancel(), "cancelled");
}

TEST_F(AcquireMachineTest, AnAnswerAfterTheEndSettlesTheReleaseThatWasTakenOver) {
  driver.begun.takes_over = true;
  start();
  cancel();
  EXPECT_EQ(held(500), "go on");
  EXPECT_TRUE(last().settled);
  held(500);
  EXPECT_FALSE(last().settled);
}

TEST_F(AcquireMachineTest, AnOfferMayTakeOverAReleaseToo) {
  queue_up();
  offer(true);
  offer_in_vain();
  EXPECT_TRUE(last().settled);
}

TEST_F(AcquireMachineTest, WhatIsUndoneForGoodIsAskedForByANewRequest) {
  AcquireMachine::Options options;
  options.confirms = true;
  begin(options);
  start();
  granted(1000);
  EXPECT_EQ(unconfirmed(), "give back, sleep until 50");
  EXPECT_FALSE(last().anew);
  options.undone_for_good = true;
  begin(options);
  start();
  granted(1000);
  EXPECT_EQ(unconfirmed(), "give back, sleep until 50");
  EXPECT_TRUE(last().anew);
}

}  // namespace
}  // namespace holdfast::sync
