#include <gtest/gtest.h>

#include "locks/lease/hold.h"
#include "locks/lease/keeper_fixture.h"

namespace holdfast::lease {
namespace {

using Kind = ReleasePlan::Kind;

constexpr const char* kGone = "it is gone";

class DeferredReleaseTest : public LeaseKeeperTest {
 protected:
  // A last release whose caller has left.
  ReleasePlan leave() {
    grant(kAlice, 1, {kLease, true});
    ReleasePlan plan = keeper().releases.begin(name, kAlice, {});
    EXPECT_TRUE(keeper().releases.defer(name, kAlice, plan));
    return plan;
  }
};

const Strings kLostAfterRelease{"lock of 1 lost late: it is gone"};

TEST_F(DeferredReleaseTest, AnotherReleaseFindsNothing) {
  const ReleasePlan plan = leave();
  EXPECT_EQ(keeper().releases.begin(name, kAlice, {}).kind, Kind::kNotOwned);
  EXPECT_FALSE(keeper().is_idle());
  keeper().releases.done(name, kAlice, plan);
  EXPECT_TRUE(keeper().is_idle());
  EXPECT_EQ(keeper().releases.begin(name, kAlice, {}).kind, Kind::kNotOwned);
}

TEST_F(DeferredReleaseTest, ALossIsPostedOnceAndMakesNoReleaseRaise) {
  const ReleasePlan plan = leave();
  keeper().releases.done(name, kAlice, plan, kGone);
  keeper().releases.done(name, kAlice, plan, kGone);
  EXPECT_EQ(events, kLostAfterRelease);
  EXPECT_TRUE(keeper().known(name, kAlice).lost);
  EXPECT_EQ(keeper().releases.begin(name, kAlice, {}).kind, Kind::kNotOwned);
}

TEST_F(DeferredReleaseTest, ALossLeavesTheNextHoldAlone) {
  const ReleasePlan plan = leave();
  EXPECT_TRUE(attempt(kAlice).takes_over);
  keeper().releases.done(name, kAlice, plan, kGone);
  EXPECT_FALSE(keeper().known(name, kAlice).lost);
  grant(kAlice, 1, {kLease, true});
  EXPECT_FALSE(keeper().known(name, kAlice).lost);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  EXPECT_EQ(events, kLostAfterRelease);
}

TEST_F(DeferredReleaseTest, WhatIsAnsweredIsNotLostWithTheAttemptBehindIt) {
  const ReleasePlan plan = leave();
  EXPECT_TRUE(attempt(kAlice).takes_over);
  keeper().releases.done(name, kAlice, plan);
  // The attempt stays unanswered.
  EXPECT_TRUE(keeper().releases.take_back(name, kAlice, {}, kNever));
  EXPECT_FALSE(keeper().is_idle());
  keeper().releases.ended(name, kAlice, nullptr, Releases::End::kExpired);
  EXPECT_EQ(events, Strings{});
  EXPECT_TRUE(keeper().is_idle());
}

// By an answer before its caller could leave, or handed to another of this client.
TEST_F(DeferredReleaseTest, TheEndOfOneThatWasAwaitedAfterAllIsPosted) {
  grant(kAlice, 1, {kLease, true}, 1);
  using Caller = Releases::Caller;
  const ReleasePlan plan = keeper().releases.begin(name, kAlice, {}, {{}, Caller::kMayLeave});
  keeper().releases.done(name, kAlice, plan);
  EXPECT_EQ(events, Strings{"lock of 1 released"});
}

TEST_F(DeferredReleaseTest, ItsEndIsPostedAlsoWhenItsOwnerHasEnded) {
  const ReleasePlan plan = leave();
  owner_ended(keeper(), kAlice);
  keeper().releases.ended(name, kAlice, plan.command, Releases::End::kExpired);
  EXPECT_EQ(events, Strings{"lock of 1 lost late: " + std::string(kReleaseExpired)});
}

TEST_F(DeferredReleaseTest, ARefusalIsPosted) {
  const ReleasePlan plan = leave();
  keeper().releases.ended(name, kAlice, plan.command, Releases::End::kRefused, "NOPERM");
  EXPECT_EQ(events, Strings{"lock of 1 not released: NOPERM"});
  EXPECT_EQ(keeper().close(), Strings{name.text()});
}

}  // namespace
}  // namespace holdfast::lease
