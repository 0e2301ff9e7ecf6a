#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "quorum_script.h"

namespace holdfast::sync {
namespace {

TEST(RedLockMachine, AsksAllAtOnceAndWaitsForTheirAnswers) {
  Script script(majority_of(3));
  EXPECT_EQ(script.start(), "try 0 1 2");
  EXPECT_EQ(script.left(), Millis(50));
  EXPECT_EQ(script.grant(0), "go on");
  EXPECT_EQ(script.grant(1), "go on");
  EXPECT_EQ(script.grant(2), "granted");
}

TEST(RedLockMachine, AMinorityMayFailOrHang) {
  Script script(majority_of(5));
  script.start();
  script.fail(0);
  script.grant(1);
  script.grant(2);
  script.grant(3);
  EXPECT_EQ(script.time(), "give back 4, granted");
}

TEST(RedLockMachine, OneLessThanAMajorityIsNotTheLock) {
  Script script(trying(majority_of(5)));
  script.start();
  script.grant(0);
  script.grant(1);
  script.refuse(2);
  script.refuse(3);
  EXPECT_EQ(script.refuse(4), "give back 0 1, busy");
}

TEST(RedLockMachine, AMajorityOutOfReachIsNeverHeldByAnother) {
  QuorumMachine::Options options = trying(majority_of(3));
  options.unreachable_budget = Millis(20);
  Script script(options);
  script.start();
  script.refuse(0);
  EXPECT_EQ(script.time(), "give back 1 2, back off");
  EXPECT_EQ(script.time(), "try 0 1 2");
  script.fail(0);
  script.fail(1);
  EXPECT_EQ(script.refuse(2),
            "failed: 1 of the 3 servers granted or refused the lock, and 2 have to: no server; no "
            "server");
}

TEST(RedLockMachine, AMajorityThatCannotWorkIsSaidAtOnce) {
  Script script(majority_of(3));
  script.start();
  script.answer(0, Verdict::kFailed, Status::server("NOAUTH", "no password"));
  script.answer(1, Verdict::kFailed, Status::closed("closed"));
  EXPECT_EQ(script.grant(2), "give back 2, failed: no password");
}

// A majority refuses to work, so that the owner is unknown.
std::string refused_to_work(Script& script) {
  const Status why = Status::server("LOADING", "loading");
  script.answer(0, Verdict::kFailed, why);
  script.answer(1, Verdict::kFailed, why);
  return script.grant(2);
}

TEST(RedLockMachine, AMajorityThatRefusesToWorkIsSaidAtOnceToWhoDoesNotWait) {
  Script script(trying(majority_of(3)));
  script.start();
  EXPECT_EQ(refused_to_work(script), "give back 2, failed: loading");
}

TEST(RedLockMachine, AMajorityThatRefusesToWorkIsAskedAgainUntilTheDeadline) {
  QuorumMachine::Options options = majority_of(3);
  options.deadline = at(100);
  Script script(options);
  script.start();
  EXPECT_EQ(refused_to_work(script), "give back 2, back off");
  EXPECT_EQ(script.time(), "try 0 1 2");
  script.pass(100);
  EXPECT_EQ(refused_to_work(script), "give back 2, timed out: loading");
}

TEST(RedLockMachine, AMajorityOutOfReachIsSaidByTheLatestMomentOfTheCaller) {
  QuorumMachine::Options options = majority_of(3);
  options.deadline = at(100);
  options.latest = at(300);
  Script script(options);
  EXPECT_EQ(script.start(), "try 0 1 2");
  std::string action = script.time();
  for (int rounds = 0; action == "give back 0 1 2, back off" && rounds < 100; ++rounds) {
    EXPECT_EQ(script.time(), "try 0 1 2");
    action = script.time();
  }
  EXPECT_NE(action.find("0 of the 3 servers granted or refused the lock, and 2 have to: "),
            std::string::npos);
  EXPECT_LE(script.now(), at(300));
}

TEST(RedLockMachine, AGrantThatCannotBeTrustedAnyMoreIsNoVote) {
  Script script(trying(majority_of(3)));
  script.start();
  script.grant(0, 10);
  script.pass(10);
  script.grant(1);
  EXPECT_EQ(script.fail(2), "give back 0 1, expired");
}

TEST(RedLockMachine, AnInnerHoldNeedsAMajorityThatHasTheOuterOne) {
  QuorumMachine::Options options = trying(majority_of(3));
  options.votes = {true, true, false};
  Script script(options);
  script.start();
  script.grant(0);
  script.grant(2);
  EXPECT_EQ(script.fail(1), "give back 0 2, expired");
}

TEST(RedLockMachine, AMinorityThatIsGoneBesideSilentMembersIsNoLoss) {
  Script script(trying(majority_of(3)));
  script.start();
  EXPECT_EQ(script.answer(0, Verdict::kGone), "go on");
  EXPECT_EQ(script.time(), "give back 1 2, back off");
  EXPECT_EQ(script.time(), "try 0 1 2");
  script.grant(0);
  script.grant(1);
  EXPECT_EQ(script.answer(2, Verdict::kGone), "give back 0 1, gone: its member 3: ");
}

TEST(RedLockMachine, AMajorityThatIsGoneIsALoss) {
  Script script(majority_of(3));
  script.start();
  script.answer(0, Verdict::kGone);
  EXPECT_EQ(script.answer(1, Verdict::kGone), "go on");
  EXPECT_EQ(script.grant(2), "give back 2, gone: its member 2: ");
}

TEST(RedLockMachine, WithoutAMajorityThatMayHaveItItIsALoss) {
  Script script(majority_of(3));
  script.start();
  script.answer(0, Verdict::kGone);
  script.refuse(1);
  EXPECT_EQ(script.grant(2), "give back 2, gone: its member 1: ");
}

TEST(RedLockMachine, WaitsForAMemberThatWasRefusedButNotForEver) {
  Script script(majority_of(3));
  script.start();
  script.grant(0);
  script.refuse(1);
  EXPECT_EQ(script.refuse(2), "give back 0, wait for 1");
  EXPECT_GE(script.left(), Millis(125));
  EXPECT_LE(script.left(), Millis(250));
  EXPECT_EQ(script.time(), "give back 1, try 0 1 2");
}

TEST(RedLockMachine, TheMemberThatWasWaitedForIsTheFirstVote) {
  Script script(majority_of(3));
  script.start();
  script.refuse(0);
  script.refuse(1);
  EXPECT_EQ(script.refuse(2), "wait for 0");
  EXPECT_EQ(script.grant(0), "try 1 2");
  script.grant(1);
  EXPECT_EQ(script.fail(2), "granted");
}

TEST(RedLockMachine, TheDeadlineEndsItAfterARefusal) {
  QuorumMachine::Options options = majority_of(3);
  options.deadline = at(100);
  Script script(options);
  script.start();
  script.refuse(0);
  script.refuse(1);
  script.refuse(2);
  script.pass(100);
  EXPECT_EQ(script.answer(0, Verdict::kTimedOut), "timed out");
}

TEST(RedLockRule, AMemberHasAPartOfTheLeaseToAnswer) {
  EXPECT_EQ(red_lock_rule(5, Millis(30000)).member_time, Millis(50));
  EXPECT_EQ(red_lock_rule(5, Millis(4000)).member_time, Millis(20));
  EXPECT_EQ(red_lock_rule(5, Millis(100)).member_time, Millis(5));
}

TEST(RedLockRule, NeedsMoreThanHalf) {
  for (const auto& [members, needed] :
       std::vector<std::pair<std::size_t, std::size_t>>{{1, 1}, {2, 2}, {3, 2}, {4, 3}, {5, 3}}) {
    EXPECT_EQ(red_lock_rule(members, kLease).needed, needed);
  }
}

}  // namespace
}  // namespace holdfast::sync
