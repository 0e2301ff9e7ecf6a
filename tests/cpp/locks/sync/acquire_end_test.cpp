// The end of an acquisition by its machine: what is recorded, what goes to the other waiters, what
// arrives afterwards.

#include "locks/sync/acquire_machine_fixture.h"

namespace holdfast::sync {
namespace {

AcquireMachine::Options with_lease(int milliseconds) {
  AcquireMachine::Options options;
  options.lease = Millis(milliseconds);
  return options;
}

TEST_F(AcquireMachineTest, AGrantThatCannotBeRecordedIsGivenBack) {
  driver.closing = true;
  start();
  EXPECT_EQ(granted(1000), "failed, give back: closed");
  EXPECT_TRUE(machine().over());
  EXPECT_FALSE(machine().unsettled());
}

TEST_F(AcquireMachineTest, AGrantThatIsNotTrustedAnyMoreIsNotRecorded) {
  driver.closing = true;
  start();
  now = 100;
  EXPECT_EQ(granted(100), "expired, give back");
}

// ---- what the next in line gets to know

TEST_F(AcquireMachineTest, WhatDidNotQueueUpLeavesNoQueue) {
  start();
  granted(1000);
  EXPECT_EQ(text(last().leave), "it stays");
}

TEST_F(AcquireMachineTest, AfterAGrantTheNextLooksAgainWhenTheLeaseIsOver) {
  begin(with_lease(700));
  start();
  held(100);
  now = 102;
  time();
  EXPECT_EQ(granted(1000), "granted");
  EXPECT_EQ(text(last().leave), "granted");
  EXPECT_EQ(last().until, at(802));
}

TEST_F(AcquireMachineTest, AfterAGrantWithoutALeaseTheNextKnowsWhatThisOneKnew) {
  start();
  held(100);
  signal();
  EXPECT_EQ(granted(1000), "granted");
  EXPECT_EQ(last().until, at(102));
}

TEST_F(AcquireMachineTest, AWaiterThatGivesUpAsleepLeavesTheHoldersTime) {
  begin(with_lease(700));
  start();
  held(500);
  EXPECT_EQ(cancel(), "cancelled");
  EXPECT_EQ(text(last().leave), "gave up");
  EXPECT_EQ(last().until, at(502));
}

TEST_F(AcquireMachineTest, AWaiterThatGivesUpDuringAnAttemptLetsTheNextTry) {
  start();
  held(500);
  signal();
  EXPECT_EQ(cancel(), "cancelled, give back");
  EXPECT_EQ(text(last().leave), "trying");
}

TEST_F(AcquireMachineTest, AGrantDuringWhichASignalCameLetsTheNextTry) {
  start();
  held(500);
  signal();
  signal();
  EXPECT_EQ(granted(1000), "granted");
  EXPECT_EQ(text(last().leave), "trying");
}

TEST_F(AcquireMachineTest, AGrantThatCannotBeRecordedLeavesAsOneWhoGaveUp) {
  begin(with_lease(700));
  driver.closing = true;
  start();
  held(100);
  signal();
  EXPECT_EQ(granted(1000), "failed, give back: closed");
  EXPECT_EQ(text(last().leave), "gave up");
  EXPECT_EQ(last().until, at(102));
}

// ---- what arrives afterwards

TEST_F(AcquireMachineTest, ASignalAfterAFailureIsForwarded) {
  start();
  held(500);
  cancel();
  EXPECT_EQ(signal(), "forward");
  EXPECT_EQ(turn(300), "forward");
}

TEST_F(AcquireMachineTest, ASignalAfterTheGrantIsNotForwarded) {
  start();
  granted(1000);
  EXPECT_EQ(signal(), "go on");
  EXPECT_EQ(turn(300), "go on");
}

TEST_F(AcquireMachineTest, ASignalAfterAPermitIsForwarded) {
  AcquireMachine::Options options;
  options.has_permits = true;
  begin(options);
  start();
  granted(1000);
  EXPECT_EQ(signal(), "forward");
}

TEST_F(AcquireMachineTest, AGrantWhoseCallerLeavesIsGivenBackOnce) {
  start();
  granted(1000);
  EXPECT_EQ(cancel(), "give back");
  EXPECT_EQ(cancel(), "go on");
  EXPECT_EQ(signal(), "go on");
}

TEST_F(AcquireMachineTest, WhatWasNotGrantedIsNotGivenBackAfterTheEnd) {
  start();
  gone();
  EXPECT_EQ(cancel(), "go on");
}

// ---- what an answer says beside its outcome

TEST_F(AcquireMachineTest, ASuspiciouslyLongLeaseIsReportedOnce) {
  begin(with_lease(1000));
  start();
  held(60000);
  EXPECT_FALSE(last().reported);
  signal();
  held(60001);
  EXPECT_EQ(last().reported.value().ttl, Millis(60001));
  signal();
  held(70000);
  EXPECT_FALSE(last().reported);
}

TEST_F(AcquireMachineTest, TwiceTheCallersLeaseIsNotSuspicious) {
  begin(with_lease(100000));
  start();
  held(200000);
  EXPECT_FALSE(last().reported);
  signal();
  held(200001);
  EXPECT_EQ(last().reported.value().ttl, Millis(200001));
}

// Also to a caller that does not wait: it learns why it has nothing.
TEST_F(AcquireMachineTest, AKeyThatNeverExpiresIsReportedOnce) {
  for (const bool blocking : {true, false}) {
    AcquireMachine::Options options = with_lease(1000);
    options.blocking = blocking;
    begin(options);
    start();
    answered({sync::held(kWithoutTtl)});
    EXPECT_TRUE(last().reported.value().foreign);
    if (!blocking) continue;
    signal();
    answered({sync::held(kWithoutTtl)});
    EXPECT_FALSE(last().reported);
  }
}

TEST_F(AcquireMachineTest, ALongLeaseIsNoMatterForACallerThatDoesNotWaitForIt) {
  AcquireMachine::Options options = with_lease(1000);
  options.blocking = false;
  begin(options);
  start();
  EXPECT_EQ(held(90000), "busy");
  EXPECT_FALSE(last().reported);
}

TEST_F(AcquireMachineTest, ALongLeaseIsNoMatterForACallerWithoutTimeToWaitForIt) {
  AcquireMachine::Options options = with_lease(1000);
  options.deadline = kZero;
  begin(options);
  start();
  EXPECT_EQ(held(90000), "timed out");
  EXPECT_FALSE(last().reported);
}

}  // namespace
}  // namespace holdfast::sync
