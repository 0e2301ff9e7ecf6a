// A call on several members, each of which answers when the test says so, or never.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "locks/sync/call_fixture.h"
#include "locks/sync/quorum/fan_out_call.h"
#include "locks/sync/quorum/quorum_round.h"

namespace holdfast::sync {
namespace {

const Outcome kDone{};
const Outcome kLost{Verdict::kGone, Status::invalid("lost")};

class Member final : public Exchange, public std::enable_shared_from_this<Member> {
 public:
  Member(std::shared_ptr<const Context> context, LockName name)
      : Exchange(std::move(context)), name_(std::move(name)) {}

  void answer(const Outcome& outcome) {
    const MutexLock lock(mutex_);
    finish(outcome);
  }
  void cancel() override { cancelled = true; }
  const LockName& name() const override { return name_; }

  bool cancelled = false;

 private:
  std::shared_ptr<Timed> timed() override { return shared_from_this(); }
  void start(Parker* /*here*/) override {}
  void time_is_up(TimePoint /*now*/) override {}

  const LockName name_;
};

class FanOutTest : public CallFixture {
 protected:
  using Places = FanOutCall::Places;

  FanOutTest() { set_up(CallerKind::kTask, kinds_with_holds().front()); }

  // Members `first`, and then those of `second`.
  void begin(const QuorumRule& rule, Places first, Places second) {
    const auto start = [this](std::size_t place) {
      begun_members.push_back(place);
      return members[place] = std::make_shared<Member>(context, lock->name);
    };
    const auto next = [second = std::move(second)](const Answers&) { return second; };
    const auto combine = [rule](const Answers& answers) { return common_release(rule, answers); };
    FanOutCall::Plan plan{rule, std::move(first), start, next, combine};
    call = std::make_shared<FanOutCall>(context, lock->name, std::move(plan));
    kept = std::make_shared<KeptOutcome>();
    call->finish_to(kept, kId);
  }
  void answer(std::size_t place, const Outcome& given) {
    members.at(place)->answer(given);
    pass(Millis(0));
  }
  void pass(Duration time) {
    script.clock.advance(time);
    (void)context->timers->step(script.clock.now());
  }
  bool over() const { return kept->last.has_value(); }

  const QuorumRule red = red_lock_rule(5, Millis(30000));
  std::vector<std::size_t> begun_members;
  std::map<std::size_t, std::shared_ptr<Member>> members;
  std::shared_ptr<FanOutCall> call;
};

TEST_F(FanOutTest, TheSecondStepBeginsThoughMembersOfTheFirstHang) {
  begin(red, {2, 3, 4}, {0, 1});
  answer(2, kLost);
  pass(red.member_time);
  EXPECT_EQ(begun_members, (Places{2, 3, 4, 0, 1}));
  EXPECT_FALSE(over());
  answer(0, kDone);
  answer(1, kDone);
  EXPECT_TRUE(over()) << "the others' time is over";
  EXPECT_EQ(kept->last->verdict, Verdict::kGone);
  EXPECT_FALSE(members[3]->cancelled || members[4]->cancelled);
}

TEST_F(FanOutTest, ALateAnswerToTheFirstStepIsNoneToTheSecond) {
  begin(red, {2, 3, 4}, {0, 1});
  answer(2, kLost);
  pass(red.member_time);
  answer(3, kDone);
  answer(4, kDone);
  EXPECT_FALSE(over());
  answer(0, kDone);
  answer(1, kDone);
  EXPECT_TRUE(over());
}

TEST_F(FanOutTest, TheMembersOfTheSecondStepHaveAMembersTime) {
  begin(red, {2, 3, 4}, {0, 1});
  answer(2, kLost);
  pass(red.member_time);
  answer(0, kDone);
  EXPECT_FALSE(over());
  pass(red.member_time);
  EXPECT_TRUE(over());
  EXPECT_EQ(kept->last->verdict, Verdict::kGone);
}

TEST_F(FanOutTest, ACallWhoseCallerLeavesBeginsTheSecondStep) {
  begin(red, {2, 3, 4}, {0, 1});
  answer(2, kLost);
  call->cancel();
  EXPECT_EQ(begun_members, (Places{2, 3, 4, 0, 1}));
  EXPECT_TRUE(members[0]->cancelled) << "it goes on without a caller";
  EXPECT_EQ(kept->last->verdict, Verdict::kCancelled);
}

TEST_F(FanOutTest, ASecondStepThatBeginsAfterItsCallersTimeIsNotAwaited) {
  begin(multi_lock_rule(2, Millis(30000)), {1}, {0});
  pass(kTimeout);
  answer(1, {Verdict::kFailed, Status::unreachable("no answer")});
  EXPECT_EQ(begun_members, (Places{1, 0}));
  EXPECT_TRUE(over());
  EXPECT_EQ(kept->last->verdict, Verdict::kFailed);
}

TEST_F(FanOutTest, BothStepsEndInTheCallersTime) {
  begin(multi_lock_rule(2, Millis(30000)), {1}, {0});
  pass(kTimeout / 2);
  answer(1, kLost);
  EXPECT_FALSE(over());
  pass(kTimeout / 2);
  EXPECT_TRUE(over());
  EXPECT_EQ(kept->last->verdict, Verdict::kGone);
}

}  // namespace
}  // namespace holdfast::sync
