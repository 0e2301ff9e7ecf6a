#include "sync/quorum/quorum_machine.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sync/quorum/multi_lock.h"
#include "sync/quorum/red_lock.h"

namespace holdfast::sync {
namespace {

using Kind = QuorumMachine::Event::Kind;
using Verb = QuorumMachine::Action::Verb;

constexpr TimePoint kZero{std::chrono::hours(1)};
constexpr Millis kLease{10000};

TimePoint at(int milliseconds) { return kZero + Millis(milliseconds); }

std::string text(const std::vector<std::size_t>& members) {
  std::string all;
  for (const std::size_t member : members) all += " " + std::to_string(member);
  return all;
}

std::string text(Verdict verdict) {
  const std::vector<std::string> words{"granted", "busy",   "timed out", "gone",
                                       "expired", "failed", "cancelled"};
  return words[static_cast<std::size_t>(verdict)];
}

std::string text(const QuorumMachine::Action& action) {
  const std::vector<std::string> verbs{"go on", "try", "wait for", "again", "back off"};
  const std::string back =
      action.give_back.empty() ? "" : "give back" + text(action.give_back) + ", ";
  if (action.verb != Verb::kFinish) {
    return back + verbs[static_cast<std::size_t>(action.verb)] + text(action.members);
  }
  const std::string why = action.why.ok() ? "" : ": " + action.why.message();
  return back + text(action.verdict) + why;
}

// A machine at a moment, in milliseconds; what it wants done reads as text.
class Script {
 public:
  explicit Script(QuorumMachine::Options options)
      : trusted_(options.rule.members, TimePoint{}), machine_(std::move(options)) {}

  std::string start() { return resume({Kind::kStart}); }
  std::string grant(std::size_t member, int trusted_for = 9000) {
    trusted_[member] = now_ + Millis(trusted_for);
    return answer(member, Verdict::kGranted);
  }
  std::string refuse(std::size_t member) { return answer(member, Verdict::kBusy); }
  std::string fail(std::size_t member) {
    return answer(member, Verdict::kFailed, Status::unreachable("no server"));
  }
  std::string answer(std::size_t member, Verdict verdict, Status why = {}) {
    return resume({Kind::kAnswer, member, verdict, std::move(why), trusted_});
  }
  std::string time() {
    now_ = until_;
    return resume({Kind::kTime});
  }
  std::string cancel() { return resume({Kind::kCancel}); }
  void pass(int milliseconds) { now_ += Millis(milliseconds); }
  Millis left() const { return std::chrono::duration_cast<Millis>(until_ - now_); }

 private:
  std::string resume(const QuorumMachine::Event& event) {
    const QuorumMachine::Action action = machine_.resume(event, now_);
    if (action.verb != Verb::kNone) until_ = action.until;
    return text(action);
  }

  TimePoint now_ = kZero;
  TimePoint until_ = kNever;
  std::vector<TimePoint> trusted_;
  QuorumMachine machine_;
};

QuorumMachine::Options all_of(std::size_t members, bool renewed = true) {
  QuorumMachine::Options options;
  options.rule = multi_lock_rule(members, kLease);
  options.lease = {kLease, renewed};
  options.votes.assign(members, true);
  return options;
}

QuorumMachine::Options majority_of(std::size_t members) {
  QuorumMachine::Options options = all_of(members);
  options.rule = red_lock_rule(members, kLease);
  return options;
}

QuorumMachine::Options trying(QuorumMachine::Options options) {
  options.blocking = false;
  return options;
}

TEST(MultiLockMachine, TakesOneAndThenTheOthersAtOnce) {
  Script script(all_of(3));
  EXPECT_EQ(script.start(), "wait for 0");
  EXPECT_EQ(script.grant(0), "try 1 2");
  EXPECT_EQ(script.grant(2), "go on");
  EXPECT_EQ(script.grant(1), "granted");
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

// What a member says whose server refuses to work.
std::string refuse_to_work(Script& script, std::size_t member, Verdict verdict = Verdict::kFailed) {
  return script.answer(member, verdict, Status::server("LOADING", "loading"));
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

TEST(MultiLockMachine, ANestedHoldThatIsGoneEndsIt) {
  Script script(all_of(2));
  script.start();
  script.grant(0);
  EXPECT_EQ(script.answer(1, Verdict::kGone), "give back 0, gone");
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
  EXPECT_EQ(script.answer(0, Verdict::kGone), "give back 0 1, gone");
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
  EXPECT_EQ(script.refuse(2), "failed: a majority of the 3 servers is out of reach: no server");
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
