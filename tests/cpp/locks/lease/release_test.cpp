#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "locks/lease/keeper_fixture.h"

namespace holdfast::lease {
namespace {

using Kind = ReleasePlan::Kind;

using End = Releases::End;

class Sending final : public client::Request {
 public:
  std::string_view key() const override { return {}; }
  resp::ReplyKinds encode(std::string&, bool) const override { return resp::ReplyKinds::any(); }
  void complete(Result<resp::Reply>, const client::Sent&) override {}
};

class ReleaseTest : public LeaseKeeperTest {
 protected:
  ReleasePlan begin_release(const std::shared_ptr<Sending>& command = {}) {
    return keeper().releases.begin(name, kAlice, {}, {command});
  }
  const std::shared_ptr<Sending> sending = std::make_shared<Sending>();
};

TEST_F(ReleaseTest, AnOwnerWithoutAHoldReleasesNothing) {
  EXPECT_EQ(keeper().releases.begin(name, kAlice, {}).kind, Kind::kNotOwned);
  renewed(kAlice);
  EXPECT_EQ(keeper().releases.begin(name, kBob, {}).kind, Kind::kNotOwned);
}

TEST_F(ReleaseTest, APartialReleaseKeepsTheHold) {
  renewed(kAlice);
  renewed(kAlice, 2);
  const ReleasePlan plan = keeper().releases.begin(name, kAlice, {});
  EXPECT_EQ(plan.kind, Kind::kPartial);
  EXPECT_EQ(plan.remaining, 1);
  keeper().releases.done(name, kAlice, plan);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  pass(Millis(10000));
  EXPECT_EQ(events, Strings{});
  EXPECT_GE(renewals.size(), 9U);
}

TEST_F(ReleaseTest, AllHoldsCanBeReleasedAtOnce) {
  renewed(kAlice);
  renewed(kAlice, 2);
  const ReleasePlan plan = keeper().releases.begin(name, kAlice, {Ending::How::kAll});
  EXPECT_EQ(plan.kind, Kind::kFinal);
  EXPECT_EQ(plan.remaining, 0);
}

TEST_F(ReleaseTest, WhatItsOwnerHasBegunToReleaseIsNotReleasedByAnother) {
  renewed(kAlice);
  const std::optional<ReleasePlan> first = keeper().releases.begin_of_held(name, kAlice);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->kind, Kind::kFinal);
  EXPECT_FALSE(keeper().releases.begin_of_held(name, kAlice));
}

TEST_F(ReleaseTest, NoRenewalFollowsAFinalRelease) {
  renewed(kAlice);
  pass(Millis(1500));
  renewals.clear();
  const ReleasePlan plan = keeper().releases.begin(name, kAlice, {});
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  pass(Millis(10000));
  EXPECT_EQ(renewals.size(), 0U);
  EXPECT_EQ(events, Strings{});
  keeper().releases.done(name, kAlice, plan);
  EXPECT_FALSE(keeper().known(name, kAlice).lost);
}

TEST_F(ReleaseTest, ARenewalOnItsWayIsNotSentAfterAFinalRelease) {
  renewed(kAlice);
  pass(Millis(1100));
  server.restart(true, Millis(100), {});
  break_connection();
  pass(Millis(5));
  renewals.clear();
  (void)keeper().releases.begin(name, kAlice, {});
  pass(Millis(5000));
  EXPECT_EQ(renewals.size(), 0U);
}

TEST_F(ReleaseTest, ALostHoldIsReportedByOneRelease) {
  fixed(kAlice, Millis(100));
  pass(Millis(200));
  const ReleasePlan plan = keeper().releases.begin(name, kAlice, {});
  EXPECT_EQ(plan.kind, Kind::kLost);
  EXPECT_EQ(plan.reason, "its lease ran out");
  EXPECT_EQ(keeper().releases.begin(name, kAlice, {}).kind, Kind::kNotOwned);
}

TEST_F(ReleaseTest, ARepeatedFinalReleaseSaysSo) {
  renewed(kAlice);
  EXPECT_FALSE(keeper().releases.begin(name, kAlice, {}).repeated);
  const ReleasePlan again = keeper().releases.begin(name, kAlice, {});
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(again.kind, Kind::kFinal);
}

TEST_F(ReleaseTest, OnceFinalAReleaseStaysFinal) {
  renewed(kAlice);
  renewed(kAlice, 2);
  (void)keeper().releases.begin(name, kAlice, {Ending::How::kAll});
  const ReleasePlan again = keeper().releases.begin(name, kAlice, {});
  EXPECT_EQ(again.kind, Kind::kFinal);
  EXPECT_EQ(again.remaining, 0);
}

TEST_F(ReleaseTest, ALateReleaseIsReportedByTheNextOne) {
  renewed(kAlice);
  const ReleasePlan plan = begin_release();
  keeper().releases.ended(name, kAlice, plan.command, End::kDone);
  EXPECT_EQ(begin_release().kind, Kind::kDone);
  EXPECT_EQ(begin_release().kind, Kind::kNotOwned);
}

TEST_F(ReleaseTest, ALateReleaseThatCameToNothingIsALoss) {
  renewed(kAlice);
  const ReleasePlan plan = begin_release();
  keeper().releases.ended(name, kAlice, plan.command, End::kExpired);
  EXPECT_TRUE(keeper().known(name, kAlice).lost);
  EXPECT_EQ(begin_release().kind, Kind::kLost);
}

TEST_F(ReleaseTest, AReleaseThatIsRefusedForGoodIsAskedAgainByTheNextOne) {
  renewed(kAlice);
  const ReleasePlan plan = begin_release(sending);
  keeper().releases.ended(name, kAlice, plan.command, End::kRefused);
  EXPECT_TRUE(keeper().is_idle());
  const ReleasePlan again = begin_release();
  EXPECT_EQ(again.kind, Kind::kFinal);
  EXPECT_TRUE(again.repeated);
}

TEST_F(ReleaseTest, AnOldReleaseDoesNotTouchANewHold) {
  renewed(kAlice);
  const ReleasePlan plan = begin_release(sending);
  EXPECT_FALSE(sending->revoked());
  EXPECT_EQ(attempt(kAlice).count, 1);
  EXPECT_TRUE(sending->revoked());
  renewed(kAlice);
  keeper().releases.done(name, kAlice, plan);
  keeper().releases.ended(name, kAlice, plan.command, End::kExpired);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(ReleaseTest, APartialReleaseThatFindsNothingReportsTheLoss) {
  renewed(kAlice);
  renewed(kAlice, 2);
  const ReleasePlan plan = begin_release();
  keeper().releases.done(name, kAlice, plan, "it is gone");
  EXPECT_TRUE(keeper().known(name, kAlice).lost);
  EXPECT_EQ(events.size(), 1U);
  EXPECT_EQ(begin_release().kind, Kind::kNotOwned);
}

TEST_F(ReleaseTest, ALossThatIsFoundBesideAPartialReleaseIsReportedByIt) {
  renewed(kAlice);
  renewed(kAlice, 2);
  const ReleasePlan plan = begin_release();
  forced(keeper(), name, world.now());
  EXPECT_TRUE(keeper().known(name, kAlice).lost);
  keeper().releases.done(name, kAlice, plan, "it is gone");
  EXPECT_EQ(begin_release().kind, Kind::kNotOwned);
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(ReleaseTest, ALastReleaseThatFindsNothingReportsTheLoss) {
  renewed(kAlice);
  const ReleasePlan plan = begin_release();
  keeper().releases.done(name, kAlice, plan, "it is gone");
  EXPECT_TRUE(keeper().known(name, kAlice).lost);
  EXPECT_EQ(events.size(), 1U);
  EXPECT_EQ(begin_release().kind, Kind::kNotOwned);
}

TEST_F(ReleaseTest, AnAcquisitionKnowsTheCountItMakes) {
  EXPECT_EQ(attempt(kAlice).count, 1);
  fixed(kAlice, Millis(1000));
  EXPECT_EQ(attempt(kAlice).count, 2);
  EXPECT_EQ(attempt(kBob).count, 1);
  pass(Millis(990));
  EXPECT_EQ(attempt(kAlice).count, 1);
}

TEST_F(ReleaseTest, AReleaseIsSentUntilNoRenewalUnderWayCanKeepTheHold) {
  renewed(kAlice);
  pass(Millis(1001));  // a renewal is on its way
  const TimePoint now = world.now();
  const ReleasePlan plan = begin_release();
  EXPECT_GE(plan.until, now + kLease);
}

TEST_F(ReleaseTest, AnAttemptTakesOverWhatItsOwnerHasPendingForTheName) {
  (void)keeper().releases.take_back(name, kAlice, sending, kNever);
  const auto other = std::make_shared<Sending>();
  const LockName side(name.text(), Side::kWrite);
  (void)keeper().releases.take_back(side, kAlice, other, kNever);
  EXPECT_FALSE(attempt(kBob).takes_over);
  EXPECT_TRUE(attempt(kAlice).takes_over);
  EXPECT_TRUE(sending->revoked());
  EXPECT_FALSE(other->revoked());
  Attempt(keeper(), name, kAlice).answered();
  EXPECT_FALSE(attempt(kAlice).takes_over);
}

TEST_F(ReleaseTest, ATakenBackGrantDoesNotChangeTheNextRelease) {
  EXPECT_TRUE(keeper().releases.take_back(name, kAlice, sending, kNever));
  EXPECT_EQ(begin_release().kind, Kind::kNotOwned);
  EXPECT_FALSE(keeper().is_idle());
  keeper().releases.ended(name, kAlice, sending.get(), End::kDone);
  EXPECT_TRUE(keeper().is_idle());
  EXPECT_EQ(begin_release().kind, Kind::kNotOwned);
}

TEST_F(ReleaseTest, AReleaseSaysByItselfWhatIsLeft) {
  renewed(kAlice);
  renewed(kAlice, 2);
  (void)keeper().releases.take_back(name, kAlice, sending, kNever);
  EXPECT_EQ(begin_release().kind, Kind::kPartial);
  EXPECT_TRUE(sending->revoked());
  EXPECT_TRUE(keeper().is_idle());
}

TEST_F(ReleaseTest, WhatIsGrantedWhileTheClientIsClosedIsNotRecorded) {
  bool idle = false;
  Attempt first(keeper(), name, kAlice);
  Attempt second(keeper(), name, kBob);
  EXPECT_TRUE(first.enter() && second.enter());
  EXPECT_EQ(first.begin().kind, AttemptPlan::Kind::kBegun);
  keeper().begin_close([&idle] { idle = true; });
  EXPECT_EQ(second.begin().kind, AttemptPlan::Kind::kClosed);
  second.end();
  EXPECT_FALSE(idle);
  EXPECT_FALSE(
      first.granted({name, kAlice, 1, {kLease, true}, world.now(), &sync::lock_recipe(), 0}));
  EXPECT_TRUE(first.under_way());
  first.end();
  EXPECT_TRUE(idle);
  EXPECT_EQ(keeper().close(), Strings{});
}

TEST_F(ReleaseTest, CloseNamesWhatIsHeldAndWhatIsPending) {
  renewed(kAlice);
  (void)keeper().releases.take_back(LockName("pending"), kBob, sending, kNever);
  bool idle = false;
  keeper().begin_close([&idle] { idle = true; });
  EXPECT_FALSE(idle);
  Strings names = keeper().close();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (Strings{"lock", "pending"}));
}

}  // namespace
}  // namespace holdfast::lease
