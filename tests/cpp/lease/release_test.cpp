#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "lease/keeper_fixture.h"

namespace holdfast::lease {
namespace {

using Verdict = ReleasePlan::Verdict;

class Owed final : public Debt {
 public:
  std::string_view key() const override { return {}; }
  void encode(std::string&) const override {}
  void complete(Result<resp::Reply>, const client::Sent&) override {}
  bool cancel() override {
    ++cancelled;
    return in_front;
  }

  bool in_front = false;
  int cancelled = 0;
};

class ReleaseTest : public LeaseKeeperTest {
 protected:
  std::shared_ptr<Owed> owe(const LockName& of) {
    auto owed = std::make_shared<Owed>();
    keeper().owe(of, kAlice, owed, false);
    return owed;
  }
};

TEST_F(ReleaseTest, NothingIsReleasedByWhoeverHoldsNothing) {
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict, Verdict::kNotOwned);
  renewed(kAlice);
  EXPECT_EQ(keeper().begin_release(name, kBob, false).verdict, Verdict::kNotOwned);
}

TEST_F(ReleaseTest, APartialReleaseKeepsTheHold) {
  renewed(kAlice);
  renewed(kAlice, 2);
  const ReleasePlan plan = keeper().begin_release(name, kAlice, false);
  EXPECT_EQ(plan.verdict, Verdict::kPartial);
  EXPECT_EQ(plan.remaining, 1);
  keeper().released(name, kAlice, plan);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  pass(Millis(10000));
  EXPECT_EQ(events, Strings{});
  EXPECT_GE(renewals.size(), 9U);
}

TEST_F(ReleaseTest, AllHoldsCanBeReleasedAtOnce) {
  renewed(kAlice);
  renewed(kAlice, 2);
  const ReleasePlan plan = keeper().begin_release(name, kAlice, true);
  EXPECT_EQ(plan.verdict, Verdict::kFinal);
  EXPECT_EQ(plan.remaining, 0);
}

TEST_F(ReleaseTest, NoRenewalFollowsAFinalRelease) {
  renewed(kAlice);
  pass(Millis(1500));
  renewals.clear();
  const ReleasePlan plan = keeper().begin_release(name, kAlice, false);
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  pass(Millis(10000));
  EXPECT_EQ(renewals.size(), 0U);
  EXPECT_EQ(events, Strings{});
  keeper().released(name, kAlice, plan);
  EXPECT_FALSE(keeper().lost(name, kAlice));
}

TEST_F(ReleaseTest, ARenewalOnItsWayIsNotSentAfterAFinalRelease) {
  renewed(kAlice);
  pass(Millis(1100));
  server.restart(true, Millis(100), {});
  break_connection();
  pass(Millis(5));
  renewals.clear();
  (void)keeper().begin_release(name, kAlice, false);
  pass(Millis(5000));
  EXPECT_EQ(renewals.size(), 0U);
}

TEST_F(ReleaseTest, ALostHoldIsReportedByOneRelease) {
  fixed(kAlice, Millis(100));
  pass(Millis(200));
  const ReleasePlan plan = keeper().begin_release(name, kAlice, false);
  EXPECT_EQ(plan.verdict, Verdict::kLost);
  EXPECT_EQ(plan.reason, "its lease ran out");
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict, Verdict::kNotOwned);
}

TEST_F(ReleaseTest, ARepeatedFinalReleaseSaysSo) {
  renewed(kAlice);
  EXPECT_FALSE(keeper().begin_release(name, kAlice, false).repeated);
  const ReleasePlan again = keeper().begin_release(name, kAlice, false);
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(again.verdict, Verdict::kFinal);
}

TEST_F(ReleaseTest, OnceFinalAReleaseStaysFinal) {
  renewed(kAlice);
  renewed(kAlice, 2);
  (void)keeper().begin_release(name, kAlice, true);
  const ReleasePlan again = keeper().begin_release(name, kAlice, false);
  EXPECT_EQ(again.verdict, Verdict::kFinal);
  EXPECT_EQ(again.remaining, 0);
}

TEST_F(ReleaseTest, ALateReleaseIsToldByTheNextOne) {
  renewed(kAlice);
  const ReleasePlan plan = keeper().begin_release(name, kAlice, false);
  keeper().released_late(name, kAlice, plan, true);
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict, Verdict::kDone);
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict, Verdict::kNotOwned);
}

TEST_F(ReleaseTest, ALateReleaseThatCameToNothingIsALoss) {
  renewed(kAlice);
  const ReleasePlan plan = keeper().begin_release(name, kAlice, false);
  keeper().released_late(name, kAlice, plan, false);
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict, Verdict::kLost);
}

TEST_F(ReleaseTest, AnOldReleaseDoesNotTouchANewHold) {
  renewed(kAlice);
  const ReleasePlan plan = keeper().begin_release(name, kAlice, false);
  EXPECT_FALSE(keeper().superseded(name, kAlice, plan));
  EXPECT_EQ(keeper().begin_attempt(name, kAlice).count, 1);
  EXPECT_TRUE(keeper().superseded(name, kAlice, plan));
  renewed(kAlice);
  EXPECT_TRUE(keeper().superseded(name, kAlice, plan));
  keeper().released(name, kAlice, plan);
  keeper().released_late(name, kAlice, plan, false);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(ReleaseTest, AnAcquisitionKnowsTheCountItMakes) {
  EXPECT_EQ(keeper().begin_attempt(name, kAlice).count, 1);
  fixed(kAlice, Millis(1000));
  EXPECT_EQ(keeper().begin_attempt(name, kAlice).count, 2);
  EXPECT_EQ(keeper().begin_attempt(name, kBob).count, 1);
  pass(Millis(990));
  EXPECT_EQ(keeper().begin_attempt(name, kAlice).count, 1);
}

TEST_F(ReleaseTest, AnAttemptTakesOverWhatItsOwnerOwesForTheName) {
  const auto first = owe(name);
  const auto second = owe(name);
  const auto other = owe(LockName("other"));
  const auto side = owe(LockName(name.bytes(), Side::kWrite));
  EXPECT_FALSE(keeper().begin_attempt(name, kBob).owes);
  EXPECT_TRUE(keeper().begin_attempt(name, kAlice).owes);
  EXPECT_EQ(first->cancelled, 1);
  EXPECT_EQ(second->cancelled, 1);
  EXPECT_EQ(other->cancelled, 0);
  EXPECT_EQ(side->cancelled, 0);
  EXPECT_FALSE(keeper().begin_attempt(name, kAlice).owes);
}

TEST_F(ReleaseTest, WhatStandsInFrontOfAnAttemptStaysOwed) {
  const auto owed = owe(name);
  owed->in_front = true;
  EXPECT_TRUE(keeper().begin_attempt(name, kAlice).owes);
  EXPECT_TRUE(keeper().begin_attempt(name, kAlice).owes);
  keeper().settled(kAlice, *owed);
  EXPECT_FALSE(keeper().begin_attempt(name, kAlice).owes);
}

TEST_F(ReleaseTest, WhatIsSettledIsNotOwedAnyMore) {
  const auto first = owe(name);
  const auto second = owe(name);
  keeper().settled(kAlice, *second);
  keeper().settled(kAlice, *second);
  EXPECT_TRUE(keeper().begin_attempt(name, kAlice).owes);
  EXPECT_EQ(first->cancelled, 1);
  EXPECT_EQ(second->cancelled, 0);
}

TEST_F(ReleaseTest, AReleaseSaysByItselfWhatIsLeft) {
  const auto early = owe(name);
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict, Verdict::kNotOwned);
  EXPECT_EQ(early->cancelled, 0);
  renewed(kAlice);
  renewed(kAlice, 2);
  const auto late = owe(name);
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict, Verdict::kPartial);
  EXPECT_EQ(early->cancelled, 1);
  EXPECT_EQ(late->cancelled, 1);
}

}  // namespace
}  // namespace holdfast::lease
