#include <gtest/gtest.h>

#include "locks/lease/keeper.h"
#include "locks/lease/keeper_fixture.h"

namespace holdfast::lease {
namespace {

TEST_F(LeaseKeeperTest, CountsTheHoldsOfEachOwner) {
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  renewed(kAlice);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  renewed(kAlice, 2);
  EXPECT_EQ(keeper().count(name, kAlice), 2);
  EXPECT_EQ(keeper().count(name, kBob), 0);
  EXPECT_EQ(keeper().count(LockName("other"), kAlice), 0);
}

TEST_F(LeaseKeeperTest, KeepsTheNewestTokenOfAHoldWhileItIsTrusted) {
  const auto token = [this](std::int64_t value) {
    Attempt attempt(keeper(), name, kAlice);
    const int holds = attempt.begin().count;
    const Lease lease{Millis(1000), false};
    EXPECT_TRUE(
        attempt.granted({name, kAlice, holds, lease, world.now(), &sync::lock_recipe(), 0, value}));
  };
  EXPECT_EQ(keeper().known(name, kAlice).token, std::nullopt);
  fixed(kAlice, Millis(1000));
  EXPECT_EQ(keeper().known(name, kAlice).token, std::nullopt);
  token(7);
  token(8);
  fixed(kAlice, Millis(1000), 4);
  EXPECT_EQ(keeper().known(name, kAlice).token, 8);
  EXPECT_EQ(keeper().known(name, kBob).token, std::nullopt);
  release(kAlice);
  release(kAlice);
  EXPECT_EQ(keeper().known(name, kAlice).token, 8);
  pass(Millis(2000));
  EXPECT_EQ(keeper().known(name, kAlice).token, std::nullopt);
  fixed(kAlice, Millis(1000));
  EXPECT_EQ(keeper().known(name, kAlice).token, std::nullopt);
}

TEST_F(LeaseKeeperTest, TrustsAHoldForItsLeaseLessTheMargins) {
  fixed(kAlice, Millis(1000));
  EXPECT_EQ(keeper().known(name, kAlice).left, Millis(988));
  pass(Millis(988) - Duration(1));
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  EXPECT_FALSE(keeper().known(name, kAlice).lost);
  pass(Duration(1));
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_TRUE(keeper().known(name, kAlice).lost);
  EXPECT_EQ(keeper().known(name, kAlice).left, std::nullopt);
}

TEST_F(LeaseKeeperTest, ReportsOnceThatALeaseRanOut) {
  const TimePoint start = world.now();
  fixed(kAlice, Millis(1000));
  pass(Millis(5000));
  EXPECT_EQ(events, Strings{"lock of 1 lost: its lease ran out"});
  EXPECT_LE(lost_at - start, Millis(989));
  EXPECT_EQ(renewals.size(), 0U);
}

TEST_F(LeaseKeeperTest, RenewsAWatchedHoldEachThirdOfItsLease) {
  const TimePoint start = world.now();
  renewed(kAlice);
  pass(Millis(30000));
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  EXPECT_EQ(events, Strings{});
  EXPECT_GE(renewals.size(), 29U);
  EXPECT_LE(renewals.size(), 34U);
  EXPECT_LE(longest_pause(start), Millis(1020));
}

TEST_F(LeaseKeeperTest, RenewalsStopWithTheLastWatchedHold) {
  fixed(kAlice, Millis(60000));
  renewed(kAlice, 2);
  pass(Millis(5000));
  EXPECT_GE(renewals.size(), 4U);
  release(kAlice);
  renewals.clear();
  pass(Millis(10000));
  EXPECT_EQ(renewals.size(), 0U);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(LeaseKeeperTest, ARenewalDoesNotCutALongerLeaseOfAnOuterHold) {
  fixed(kAlice, Millis(60000));
  renewed(kAlice, 2);
  pass(Millis(2000));
  ASSERT_GE(renewals.size(), 1U);
  release(kAlice);
  const auto left = std::chrono::duration_cast<Millis>(*keeper().known(name, kAlice).left);
  EXPECT_GE(server_ttl(), left.count());
}

TEST_F(LeaseKeeperTest, AFailedRenewalIsTriedAgainWithinAQuarterOfASecond) {
  renewed(kAlice);
  pass(Millis(900));
  server.set_mood(Server::Mood::kLoading);
  pass(Millis(200));
  ASSERT_GE(renewals.size(), 1U);
  const TimePoint first = renewals.front();
  pass(Millis(1500));
  EXPECT_LE(longest_pause(first), Millis(260));
  server.set_mood(Server::Mood::kWell);
  pass(Millis(10000));
  EXPECT_EQ(events, Strings{});
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(LeaseKeeperTest, AStallShorterThanTheLeaseLosesNothing) {
  renewed(kAlice);
  pass(Millis(900));
  server.pause(Millis(2000));
  pass(Millis(20000));
  EXPECT_EQ(events, Strings{});
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(LeaseKeeperTest, WithoutAnyAnswerTheHoldIsLostWhenItsTimeIsOver) {
  const TimePoint start = world.now();
  renewed(kAlice);
  server.pause(Millis(20000));
  pass(Millis(10000));
  EXPECT_EQ(events,
            Strings{"lock of 1 lost: no renewal reached the server before its lease ran out: no "
                    "reply from :6379 in time"});
  EXPECT_GE(lost_at - start, Millis(2968));
  EXPECT_LE(lost_at - start, Millis(2969));
}

TEST_F(LeaseKeeperTest, ARefusedRenewalIsALoss) {
  renewed(kAlice);
  pass(Millis(100));
  server.flush_data();
  pass(Millis(1000));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(events[0].find("the server no longer has it"), std::string::npos);
  EXPECT_TRUE(keeper().known(name, kAlice).lost);
}

TEST_F(LeaseKeeperTest, AServerThatForgotTheScriptGetsItsText) {
  renewed(kAlice);
  pass(Millis(1500));
  server.flush_scripts();
  pass(Millis(20000));
  EXPECT_EQ(events, Strings{});
}

TEST_F(LeaseKeeperTest, ABrokenConnectionHasAllHoldsVerifiedAtOnce) {
  renewed(kAlice);
  pass(Millis(1100));
  server.flush_data();
  renewals.clear();
  break_connection();
  pass(Millis(50));
  EXPECT_EQ(renewals.size(), 1U);
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(LeaseKeeperTest, AFixedLeaseIsVerifiedWithoutBeingTouched) {
  fixed(kAlice, Millis(10000));
  pass(Millis(1000));
  const std::int64_t before = server_ttl();
  keeper().watchdog().verify();
  pass(kSoon);
  EXPECT_EQ(server_ttl(), before - kSoon.count());
  EXPECT_EQ(events, Strings{});
  server.flush_data();
  keeper().watchdog().verify();
  pass(kSoon);
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(LeaseKeeperTest, RenewalsReturnToTheRenewedLeaseWhenALongerOneIsOver) {
  renewed(kAlice);
  fixed(kAlice, Millis(20000), 2);
  pass(Millis(2000));
  ASSERT_GE(renewals.size(), 1U);
  EXPECT_GT(server_ttl(), kLease.count());
  pass(Millis(20000));
  EXPECT_EQ(keeper().count(name, kAlice), 2);
  EXPECT_GT(server_ttl(), 0);
  EXPECT_LE(server_ttl(), kLease.count());
}

TEST_F(LeaseKeeperTest, AnOwnerThatEndsLosesItsRenewals) {
  renewed(kAlice);
  renewed(kAlice, 2);
  owner_ended(keeper(), kAlice, "thread");
  EXPECT_EQ(events, Strings{"lock of 1 abandoned by thread"});
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_FALSE(keeper().known(name, kAlice).lost);
  pass(Millis(10000));
  EXPECT_EQ(renewals.size(), 0U);
  EXPECT_EQ(server_ttl(), -2);
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(LeaseKeeperTest, ALossIsReportedOnce) {
  renewed(kAlice);
  keeper().lose(name, kAlice, "a reason");
  keeper().lose(name, kAlice, "another reason");
  forced(keeper(), name, world.now());
  pass(Millis(10000));
  EXPECT_EQ(events, Strings{"lock of 1 lost: a reason"});
  EXPECT_EQ(renewals.size(), 0U);
}

TEST_F(LeaseKeeperTest, ALossHasItsCauseBesideTheReason) {
  using Cause = Event::Cause;
  for (const char* gone : kGoneReasons) {
    renewed(kAlice);
    keeper().lose(name, kAlice, gone);
    EXPECT_EQ(cause, Cause::kGone) << gone;
  }
  renewed(kAlice);
  keeper().lose(name, kAlice, "a reason");
  EXPECT_EQ(cause, Cause::kOther);
  fixed(kAlice, Millis(100));
  pass(Millis(200));
  EXPECT_EQ(cause, Cause::kLeaseOver);
  renewed(kAlice);
  cause = Cause::kOther;
  server.pause(Millis(20000));
  pass(Millis(25000));
  EXPECT_EQ(cause, Cause::kLeaseOver) << events.back();
  renewed(kAlice);
  client().close();
  pass(kLease);
  EXPECT_EQ(cause, Cause::kClosed);
}

TEST_F(LeaseKeeperTest, AGrantAfterALossIsANewHold) {
  fixed(kAlice, Millis(100));
  pass(Millis(200));
  ASSERT_TRUE(keeper().known(name, kAlice).lost);
  renewed(kAlice);
  EXPECT_FALSE(keeper().known(name, kAlice).lost);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  pass(Millis(10000));
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(LeaseKeeperTest, WhatIsHeldWhenItIsClosedIsLostAtItsDeadline) {
  const TimePoint begin = world.now();
  renewed(kAlice);
  EXPECT_EQ(keeper().close(), Strings{"lock"});
  EXPECT_EQ(keeper().releases.begin(name, kAlice, {}).kind, ReleasePlan::Kind::kNotOwned);
  EXPECT_FALSE(keeper().known(name, kAlice).lost);
  pass(Millis(10000));
  EXPECT_EQ(renewals.size(), 0U);
  EXPECT_EQ(events, Strings{"lock of 1 lost: its client was closed"});
  EXPECT_LE(lost_at - begin, kLease);
  EXPECT_EQ(keeper().known(name, kAlice).loss, "its client was closed");
  EXPECT_EQ(keeper().releases.begin(name, kAlice, {}).kind, ReleasePlan::Kind::kLost);
}

TEST_F(LeaseKeeperTest, WhatItReportsWhenClosedIsKeptUntilTheLastLoss) {
  renewed(kAlice);
  std::weak_ptr<void> kept;
  {
    auto reports = std::make_shared<int>();
    kept = reports;
    (void)keeper().close(std::move(reports));
  }
  pass(kLease - Millis(100));
  EXPECT_FALSE(kept.expired());
  pass(Millis(200));
  EXPECT_TRUE(kept.expired());
  EXPECT_EQ(events, (Strings{"lock of 1 lost: its client was closed", " of 0 closed"}));
}

TEST_F(LeaseKeeperTest, WithNothingHeldItKeepsNothingWhenClosed) {
  renewed(kAlice);
  release(kAlice);
  auto reports = std::make_shared<int>();
  const std::weak_ptr<int> kept = reports;
  (void)keeper().close(std::move(reports));
  EXPECT_TRUE(kept.expired());
  EXPECT_EQ(events, Strings{" of 0 closed"});
}

TEST_F(LeaseKeeperTest, AnOwnerThatEndsAfterTheCloseIsTheLastThatItReports) {
  renewed(kAlice);
  auto reports = std::make_shared<int>();
  const std::weak_ptr<int> kept = reports;
  (void)keeper().close(std::move(reports));
  owner_ended(keeper(), kAlice, "thread");
  pass(kSoon);
  EXPECT_TRUE(kept.expired());
  EXPECT_EQ(events, (Strings{"lock of 1 abandoned by thread", " of 0 closed"}));
}

TEST_F(LeaseKeeperTest, AKnownLossStaysKnownWhenItIsClosed) {
  fixed(kAlice, Millis(100));
  pass(Millis(200));
  EXPECT_EQ(keeper().close(), Strings{});
  EXPECT_TRUE(keeper().known(name, kAlice).lost);
  EXPECT_EQ(keeper().known(name, kAlice).loss, "its lease ran out");
}

TEST_F(LeaseKeeperTest, AForcedReleaseIsALossForEverybodyButWhoReleases) {
  renewed(kAlice);
  Attempt attempt(keeper(), name, kBob);
  EXPECT_TRUE(attempt.enter());
  EXPECT_TRUE(
      attempt.granted({name, kBob, 1, {kLease, true}, world.now(), &sync::lock_recipe(), 0}));
  (void)keeper().releases.begin(name, kBob, {});
  forced(keeper(), name, world.now());
  EXPECT_EQ(events, Strings{"lock of 1 lost: it was released by force"});
}

TEST_F(LeaseKeeperTest, AForcedReleaseLeavesWhatWasRequestedAfterIt) {
  const TimePoint sent = world.now();
  pass(Millis(1));
  renewed(kAlice);  // a waiter that it has woken
  forced(keeper(), name, sent);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  EXPECT_EQ(events, Strings{});
}

TEST_F(LeaseKeeperTest, AnExtensionReplacesTheLeaseAndEndsTheRenewals) {
  renewed(kAlice);
  const std::uint32_t number = keeper().begin_extension(name, kAlice, Millis(20000));
  EXPECT_EQ(keeper().known(name, kAlice).left, Millis(2968));
  keeper().extended(name, kAlice, {number, Millis(20000)}, world.now());
  EXPECT_EQ(keeper().known(name, kAlice).left, Millis(19798));
  pass(Millis(10000));
  EXPECT_EQ(renewals.size(), 0U);
  EXPECT_EQ(events, Strings{});
}

TEST_F(LeaseKeeperTest, AnExtensionToLessCountsBeforeItsAnswer) {
  renewed(kAlice);
  (void)keeper().begin_extension(name, kAlice, Millis(100));
  EXPECT_EQ(keeper().known(name, kAlice).left, Millis(97));
  pass(Millis(200));
  EXPECT_EQ(events, Strings{"lock of 1 lost: its lease ran out"});
}

TEST_F(LeaseKeeperTest, ARenewalFromBeforeAnExtensionPromisesNoMoreThanTheExtension) {
  fixed(kAlice, Millis(120'000));
  renewed(kAlice, 2);
  while (renewals.empty()) pass(Millis(1));  // executed; its reply is on its way
  const Keeper::Extension extension{keeper().begin_extension(name, kAlice, Millis(6000)),
                                    Millis(6000)};
  keeper().extended(name, kAlice, extension, world.now());
  renewed(kAlice, 3);
  pass(kSoon);
  EXPECT_LE(*keeper().known(name, kAlice).left, Millis(6000));
}

TEST_F(LeaseKeeperTest, TheAnswerToAnEarlierExtensionPromisesNoMoreThanTheLaterOne) {
  renewed(kAlice);
  const std::uint32_t first = keeper().begin_extension(name, kAlice, Millis(2000));
  const std::uint32_t second = keeper().begin_extension(name, kAlice, Millis(100));
  keeper().extended(name, kAlice, {first, Millis(2000)}, world.now());
  EXPECT_EQ(keeper().known(name, kAlice).left, Millis(97));
  keeper().extended(name, kAlice, {second, Millis(100)}, world.now());
  EXPECT_EQ(keeper().known(name, kAlice).left, Millis(97));
}

}  // namespace
}  // namespace holdfast::lease
