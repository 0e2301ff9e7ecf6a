// The acquire machine where replicas have to confirm a grant.

#include "locks/sync/acquire_machine_fixture.h"

namespace holdfast::sync {
namespace {

AcquireMachine::Options confirming(bool blocking = true, TimePoint deadline = kNever) {
  AcquireMachine::Options options;
  options.blocking = blocking;
  options.deadline = deadline;
  options.confirms = true;
  return options;
}

TEST_F(AcquireMachineTest, AGrantCountsOnceReplicasHaveConfirmedIt) {
  begin(confirming());
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(granted(100), "confirm");
  EXPECT_FALSE(machine().over());
  EXPECT_EQ(confirmed(), "granted");
  EXPECT_FALSE(machine().unsettled());
}

TEST_F(AcquireMachineTest, TheTimeThatReplicasTookCountsAgainstTheLease) {
  begin(confirming());
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(granted(100), "confirm");
  now = 100;
  EXPECT_EQ(confirmed(), "expired, give back");
  EXPECT_TRUE(machine().unsettled());
}

TEST_F(AcquireMachineTest, AGrantThatWasOverBeforeReplicasCouldBeAskedIsExpired) {
  begin(confirming());
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(granted(100), "confirm");
  now = 100;
  EXPECT_EQ(unconfirmed(), "expired, give back");
}

TEST_F(AcquireMachineTest, AnUnconfirmedGrantIsGivenBackAndTriedAgain) {
  begin(confirming(true, at(300)));
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(granted(1000), "confirm");
  now = 10;
  EXPECT_EQ(unconfirmed(), "give back, sleep until 60");
  now = 60;
  EXPECT_EQ(time(), "try");
  EXPECT_EQ(granted(1000), "confirm");
  now = 300;
  EXPECT_EQ(time(), "sleep");
  EXPECT_EQ(unconfirmed(), "timed out, give back: too few");
}

TEST_F(AcquireMachineTest, AConfirmationEndsAtTheLatestMomentOfItsCaller) {
  AcquireMachine::Options options = confirming(true, at(300));
  options.latest = at(500);
  begin(options);
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(granted(1000), "confirm");
  now = 300;
  EXPECT_EQ(time(), "sleep until 500");
  now = 500;
  EXPECT_EQ(time(Status::unreachable("no reply")), "failed, give back: no reply");
}

TEST_F(AcquireMachineTest, AConfirmationThatIsLateAfterARefusalTimesOut) {
  AcquireMachine::Options options = confirming(true, at(300));
  options.latest = at(500);
  begin(options);
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(held(1000), "join until 300");
  EXPECT_EQ(signal(), "try until 300");
  EXPECT_EQ(granted(1000), "confirm");
  now = 500;
  EXPECT_EQ(time(Status::unreachable("no reply")), "timed out, give back");
}

TEST_F(AcquireMachineTest, ReplicasThatDoNotConfirmAreAskedUntilTheRefusalBudget) {
  begin(confirming());
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(granted(9000), "confirm");
  EXPECT_EQ(unconfirmed(), "give back, sleep until 50");
  now = 4000;
  EXPECT_EQ(time(), "try");
  EXPECT_EQ(granted(9000), "confirm");
  now = 5000;
  EXPECT_EQ(unconfirmed(), "failed, give back: too few");
}

TEST_F(AcquireMachineTest, AGrantThatIsForgottenMeanwhileIsTriedAgain) {
  begin(confirming(false));
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(granted(100), "confirm");
  EXPECT_EQ(forgotten(), "try");
  EXPECT_EQ(granted(100), "confirm");
  now = 100;
  EXPECT_EQ(forgotten(), "expired, give back");
}

TEST_F(AcquireMachineTest, AConfirmationThatNothingAsksForGrantsNothing) {
  begin(confirming(false));
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(granted(100), "confirm");
  EXPECT_EQ(forgotten(), "try");
  EXPECT_EQ(confirmed(), "go on");
  EXPECT_EQ(forgotten(), "go on");
  EXPECT_EQ(unconfirmed(), "go on");
  EXPECT_EQ(granted(100), "confirm");
  EXPECT_EQ(confirmed(), "granted");
}

TEST_F(AcquireMachineTest, WithoutBlockingAnUnconfirmedGrantFails) {
  begin(confirming(false));
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(granted(100), "confirm");
  EXPECT_EQ(unconfirmed(), "failed, give back: too few");
}

TEST_F(AcquireMachineTest, AWaiterThatGivesUpWhileReplicasAreAskedGivesTheGrantBack) {
  begin(confirming());
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(granted(100), "confirm");
  EXPECT_EQ(cancel(), "cancelled, give back");
  EXPECT_TRUE(machine().unsettled());
  EXPECT_EQ(confirmed(), "go on");
}

TEST_F(AcquireMachineTest, AFailureWhileReplicasAreAskedGivesTheGrantBack) {
  begin(confirming());
  EXPECT_EQ(start(), "try");
  EXPECT_EQ(granted(100), "confirm");
  EXPECT_EQ(ask_failed(), "failed, give back: no server");
}

// ---- before the first attempt it is not known whether the server can ask replicas

class ProbingTest : public AcquireMachineTest {
 protected:
  ProbingTest() {
    begin(confirming());
    driver.begun.probed = false;
  }
};

TEST_F(ProbingTest, TheAttemptIsSentOnceReplicasCanBeAsked) {
  EXPECT_EQ(start(), "try, probe");
  EXPECT_EQ(confirmed(), "send");
  EXPECT_EQ(granted(100), "confirm");
  EXPECT_EQ(confirmed(), "granted");
}

TEST_F(ProbingTest, AServerThatCannotAskForNowIsProbedAgain) {
  EXPECT_EQ(start(), "try, probe");
  EXPECT_EQ(unconfirmed(), "sleep until 50");
  now = 50;
  EXPECT_EQ(time(), "try, probe");
  EXPECT_EQ(confirmed(), "send");
}

TEST_F(ProbingTest, AProbeThatFailsHasLeftNothingBehind) {
  EXPECT_EQ(start(), "try, probe");
  EXPECT_EQ(ask_failed(), "failed: no server");
}

TEST_F(ProbingTest, WithoutConfirmationNothingIsProbed) {
  begin({});
  EXPECT_EQ(start(), "try");
}

}  // namespace
}  // namespace holdfast::sync
