#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "quorum_script.h"

namespace holdfast::sync {
namespace {

TEST(MultiLockMachine, TakesOneAndThenTheOthersAtOnce) {
  Script script(all_of(3));
  EXPECT_EQ(script.start(), "wait for 0");
  EXPECT_EQ(script.grant(0), "try 1 2");
  EXPECT_EQ(script.grant(2), "go on");
  EXPECT_EQ(script.grant(1), "granted");
}

TEST(MultiLockMachine, OfOneConnectionTriesAllAtOnce) {
  Script script(pipelined(all_of(3)));
  EXPECT_EQ(script.start(), "try 0 1 2");
  EXPECT_EQ(script.grant(0), "go on");
  EXPECT_EQ(script.grant(1), "go on");
  EXPECT_EQ(script.grant(2), "granted");
}

TEST(MultiLockMachine, OfOneConnectionGivesBackOnceAllHaveAnswered) {
  Script script(pipelined(all_of(3)));
  script.start();
  EXPECT_EQ(script.grant(0), "go on");
  EXPECT_EQ(script.refuse(1), "go on");
  EXPECT_EQ(script.grant(2), "give back 0 2, wait for 1");
  EXPECT_EQ(script.grant(1), "try 0 2");
}

TEST(MultiLockMachine, OfOneConnectionDoesNotBackOffAfterARoundThatWasGrantedNothing) {
  Script script(pipelined(all_of(2)));
  script.start();
  script.refuse(0);
  EXPECT_EQ(script.refuse(1), "wait for 0");
  script.grant(0);
  EXPECT_EQ(script.refuse(1), "give back 0, wait for 1");
  script.grant(1);
  EXPECT_EQ(script.refuse(0), "give back 1, back off");
}

TEST(MultiLockMachine, OfOneIsThatOne) {
  Script script(all_of(1));
  EXPECT_EQ(script.start(), "wait for 0");
  EXPECT_EQ(script.grant(0), "granted");
}

TEST(MultiLockMachine, TakesNothingFromOthersWhileTheFirstIsHeld) {
  Script script(trying(all_of(3)));
  EXPECT_EQ(script.start(), "try 0");
  EXPECT_EQ(script.refuse(0), "busy");
}

TEST(MultiLockMachine, ATryThatMeetsAHolderGivesEverythingBack) {
  Script script(trying(all_of(3)));
  script.start();
  script.grant(0);
  EXPECT_EQ(script.refuse(1), "give back 0 2, busy");
}

TEST(MultiLockMachine, HoldsNothingWhileItWaitsForTheMemberThatWasRefused) {
  Script script(all_of(3));
  script.start();
  script.grant(0);
  script.grant(1);
  EXPECT_EQ(script.refuse(2), "give back 0 1, wait for 2");
  EXPECT_EQ(script.grant(2), "try 0 1");
}

TEST(MultiLockMachine, BacksOffFromTheSecondVainRoundOn) {
  Script script(all_of(2));
  script.start();
  script.grant(0);
  EXPECT_EQ(script.refuse(1), "give back 0, wait for 1");
  script.grant(1, 9898);  // sent at this moment
  EXPECT_EQ(script.refuse(0), "give back 1, back off");
  EXPECT_LE(script.left(), Millis(4));
  EXPECT_EQ(script.time(), "wait for 0");
}

TEST(MultiLockMachine, TheDeadlineEndsItAfterARefusal) {
  QuorumMachine::Options options = all_of(2);
  options.deadline = at(100);
  Script script(options);
  script.start();
  script.pass(100);
  script.grant(0);
  EXPECT_EQ(script.refuse(1), "give back 0, timed out");
}

TEST(MultiLockMachine, HoldsNothingWhileItWaitsForAServerThatRefusesToWork) {
  Script script(all_of(3));
  script.start();
  script.grant(0);
  EXPECT_EQ(refuse_to_work(script, 1), "give back 0 2, wait for 1");
  EXPECT_EQ(script.grant(1), "try 0 2");
}

TEST(MultiLockMachine, AServerThatRefusesToWorkIsSaidAtOnceToWhoDoesNotWait) {
  Script script(trying(all_of(2)));
  script.start();
  script.grant(0);
  EXPECT_EQ(refuse_to_work(script, 1), "give back 0, failed: loading");
}

TEST(MultiLockMachine, AServerThatRefusesForLongerThanItIsWaitedForEndsIt) {
  Script script(all_of(2));
  EXPECT_EQ(script.start(), "wait for 0");
  EXPECT_EQ(refuse_to_work(script, 0), "failed: loading");
}

TEST(MultiLockMachine, TheDeadlineIsATimeOutThatNamesTheState) {
  QuorumMachine::Options options = all_of(2);
  options.deadline = at(100);
  Script script(options);
  script.start();
  script.grant(0);
  EXPECT_EQ(refuse_to_work(script, 1), "give back 0, wait for 1");
  script.pass(100);
  EXPECT_EQ(refuse_to_work(script, 1, Verdict::kTimedOut), "timed out: loading");
}

TEST(MultiLockMachine, AMemberOutOfReachEndsItAtOnce) {
  Script script(all_of(3));
  script.start();
  script.grant(0);
  EXPECT_EQ(script.fail(1), "give back 0 2, failed: no server");
}

TEST(MultiLockMachine, ALossThatIsKnownIsTheErrorRatherThanOneThatIsFound) {
  Script script(pipelined(all_of(2)));
  script.start();
  script.answer(0, Verdict::kFailed, Status::lost("known"));
  EXPECT_EQ(script.answer(1, Verdict::kGone), "failed: its member 1: known");
}

TEST(MultiLockMachine, ANestedHoldThatIsGoneEndsIt) {
  Script script(all_of(2));
  script.start();
  script.grant(0);
  EXPECT_EQ(script.answer(1, Verdict::kGone), "give back 0, gone: its member 2: ");
}

TEST(MultiLockMachine, AnEarlyGrantGetsItsLeaseAgain) {
  Script script(all_of(2, false));
  script.start();
  script.grant(0, 9898);
  script.pass(500);
  EXPECT_EQ(script.grant(1, 9898), "again 0");
  EXPECT_EQ(script.grant(0, 9898), "granted");
}

TEST(MultiLockMachine, IsGrantedThoughItsServersAreFurtherAwayThanALeasesMargin) {
  Script script(all_of(2, false));
  const int late = 9898 - 500;
  script.start();
  script.grant(0, late);
  EXPECT_EQ(script.grant(1, late), "again 0 1");
  EXPECT_EQ(script.grant(0, late), "go on");
  EXPECT_EQ(script.grant(1, late), "granted");
}

TEST(MultiLockMachine, AnEarlyGrantThatIsGoneByThenIsNotTheLock) {
  Script script(all_of(2, false));
  script.start();
  script.grant(0, 9898);
  script.pass(500);
  script.grant(1, 9898);
  EXPECT_EQ(script.answer(0, Verdict::kGone), "give back 0 1, gone: its member 1: ");
}

TEST(MultiLockMachine, IsNotGrantedWhenTheFirstIsOverBeforeTheLast) {
  Script script(all_of(2));
  script.start();
  script.grant(0, 100);
  script.pass(100);
  EXPECT_EQ(script.grant(1), "give back 0 1, expired");
}

TEST(MultiLockMachine, ACancelGivesBackWhatIsHeldAndWhatMayYetCome) {
  Script script(all_of(3));
  script.start();
  script.grant(0);
  script.grant(1);
  EXPECT_EQ(script.cancel(), "give back 0 1 2, cancelled");
  EXPECT_EQ(script.grant(2), "go on");
}

}  // namespace
}  // namespace holdfast::sync
