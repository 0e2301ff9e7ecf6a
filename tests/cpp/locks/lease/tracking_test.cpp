// Holds whose changes the server reports: what is found at once, what costs nothing, and what works
// as before without the messages.

#include <gtest/gtest.h>

#include <string>

#include "locks/lease/keeper_fixture.h"

namespace holdfast::lease {
namespace {

// A message, the check that follows, and its reply; a millisecond each at the most.
constexpr Millis kAtOnce{4};
constexpr Millis kOld{200};  // a hold of this age is tracked

class HoldTrackingTest : public LeaseKeeperTest {
 protected:
  HoldTrackingTest() : LeaseKeeperTest(true) {}

  std::size_t tracked() { return keeper().tracked(); }
  int looks() const { return server.runs("lock/check"); }
  int lock_renewals() const { return server.runs("lock/renew"); }

  // By another client.
  void command(std::vector<std::string> words) { (void)server.execute(Command{std::move(words)}); }

  void expect_loss_at_once() {
    const TimePoint start = world.now();
    pass(kAtOnce);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_NE(events[0].find("lost: the server no longer has it"), std::string::npos) << events[0];
    EXPECT_LE(lost_at - start, kAtOnce);
    EXPECT_EQ(tracked(), 0U);
  }
};

TEST_F(HoldTrackingTest, AHoldIsTrackedOnceItHasLastedForAMoment) {
  renewed(kAlice);
  pass(Millis(95));
  EXPECT_EQ(looks(), 0);
  pass(Millis(20));
  EXPECT_EQ(looks(), 1);
  EXPECT_EQ(tracked(), 1U);
  release(kAlice);
  EXPECT_EQ(tracked(), 0U);
}

TEST_F(HoldTrackingTest, ShortHoldsCostNothing) {
  for (int i = 0; i < 20; ++i) {
    renewed(kAlice);
    pass(Millis(50));
    release(kAlice);
  }
  pass(Millis(2000));
  EXPECT_EQ(looks(), 0);
}

TEST_F(HoldTrackingTest, ARemovedKeyIsALossAtOnce) {
  renewed(kAlice);
  pass(kOld);
  command({"DEL", name.text()});
  expect_loss_at_once();
}

TEST_F(HoldTrackingTest, ARemovedFieldIsALossAtOnce) {
  renewed(kAlice);
  pass(kOld);
  command({"HSET", name.text(), "other", "1"});
  pass(kAtOnce);
  command({"HDEL", name.text(), owner_field("client", kAlice)});
  expect_loss_at_once();
}

TEST_F(HoldTrackingTest, RemovedDataAreALossAtOnce) {
  renewed(kAlice);
  pass(kOld);
  server.flush_data();
  expect_loss_at_once();
}

TEST_F(HoldTrackingTest, AHoldWithALeaseIsTrackedToo) {
  fixed(kAlice, Millis(60000));
  pass(kOld);
  EXPECT_EQ(tracked(), 1U);
  command({"UNLINK", name.text()});
  expect_loss_at_once();
}

TEST_F(HoldTrackingTest, ALookAtALeaseThatTheServerRefusesIsRepeated) {
  fixed(kAlice, Millis(60000));
  pass(kOld);
  command({"DEL", name.text()});
  server.set_mood(Server::Mood::kLoading);
  pass(Millis(1000));
  EXPECT_EQ(events, Strings{});
  server.set_mood(Server::Mood::kWell);
  pass(Millis(300));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(events[0].find("lost: the server no longer has it"), std::string::npos) << events[0];
}

TEST_F(HoldTrackingTest, AHoldStaysTrackedWhenItHasBeenRenewed) {
  renewed(kAlice);
  pass(kLease * 5);
  EXPECT_GE(lock_renewals(), 10);
  EXPECT_EQ(looks(), 1);
  command({"DEL", name.text()});
  expect_loss_at_once();
}

TEST_F(HoldTrackingTest, AShorterExpiryIsRenewedAtOnce) {
  renewed(kAlice);
  pass(kOld);
  command({"PEXPIRE", name.text(), "500"});
  pass(2 * kAtOnce);
  EXPECT_GE(server_ttl(), kLease.count() - 10);
  pass(kLease * 2);
  EXPECT_EQ(events, Strings{});
}

TEST_F(HoldTrackingTest, AShorterExpiryOfALeaseIsTheEndOfItsValidity) {
  fixed(kAlice, Millis(60000));
  pass(kOld);
  command({"PEXPIRE", name.text(), "500"});
  const TimePoint start = world.now();
  pass(kAtOnce);
  ASSERT_EQ(keeper().count(name, kAlice), 1);
  EXPECT_LE(keeper().known(name, kAlice).left, Millis(498));
  pass(Millis(500));
  EXPECT_EQ(events, Strings{"lock of 1 lost: its lease ran out"});
  EXPECT_LE(lost_at - start, Millis(500));
}

// As the watchdog of another program's reader does, which sets a shorter lease for all of them.
TEST_F(HoldTrackingTest, ALeaseThatAnotherClientCutsAndKeepsUpIsNoLoss) {
  fixed(kAlice, Millis(60000));
  pass(kOld);
  for (int i = 0; i < 30; ++i) {
    command({"PEXPIRE", name.text(), "1500"});
    pass(Millis(500));
    ASSERT_EQ(events, Strings{});
    EXPECT_LE(keeper().known(name, kAlice).left, Millis(1500));
  }
  pass(Millis(1100));
  EXPECT_EQ(events, Strings{"lock of 1 lost: its lease ran out"});
}

TEST_F(HoldTrackingTest, ALeaseThatWasCutAndIsRestoredHasItsWholeValidity) {
  fixed(kAlice, Millis(60000));
  pass(kOld);
  command({"PEXPIRE", name.text(), "1500"});
  pass(kAtOnce);
  command({"PEXPIRE", name.text(), "90000"});
  pass(kAtOnce);
  EXPECT_GE(keeper().known(name, kAlice).left, Millis(59000));
  EXPECT_LE(keeper().known(name, kAlice).left, Millis(60000)) << "never more than was granted";
  pass(Millis(5000));
  EXPECT_EQ(events, Strings{});
}

TEST_F(HoldTrackingTest, ALeaseThatWasCutIsLookedAtAgainBeforeItEnds) {
  fixed(kAlice, Millis(60000));
  pass(kOld);
  command({"PEXPIRE", name.text(), "1500"});
  pass(kAtOnce);
  server.forget_tracked(name.text());
  command({"PEXPIRE", name.text(), "60000"});
  pass(Millis(2000));
  EXPECT_EQ(events, Strings{});
}

TEST_F(HoldTrackingTest, ALeaseThatWasCutLastsAsLongAsAnExtensionSays) {
  fixed(kAlice, Millis(60000));
  pass(kOld);
  command({"PEXPIRE", name.text(), "1500"});
  pass(kAtOnce);
  const std::uint32_t number = keeper().begin_extension(name, kAlice, Millis(30000));
  command({"PEXPIRE", name.text(), "30000"});
  keeper().extended(name, kAlice, {number, Millis(30000)}, world.now());
  EXPECT_GE(keeper().known(name, kAlice).left, Millis(29000));
  pass(Millis(5000));
  EXPECT_EQ(events, Strings{});
}

TEST_F(HoldTrackingTest, OtherChangesAreNoLoss) {
  renewed(kAlice);
  pass(kOld);
  command({"PEXPIRE", name.text(), "600000"});
  pass(kAtOnce);
  command({"PERSIST", name.text()});
  pass(kAtOnce);
  command({"HSET", name.text(), "other", "1"});
  pass(kAtOnce);
  EXPECT_EQ(looks(), 4);
  EXPECT_EQ(lock_renewals(), 0);
  pass(kLease * 3);
  EXPECT_EQ(events, Strings{});
  EXPECT_EQ(tracked(), 1U);
}

TEST_F(HoldTrackingTest, AFurtherHoldOfTheOwnerIsNoLoss) {
  renewed(kAlice);
  pass(kOld);
  renewed(kAlice, 2);
  pass(kAtOnce);
  fixed(kAlice, Millis(60000), 3);
  pass(kAtOnce);
  release(kAlice);
  pass(kOld);
  EXPECT_LE(looks(), 4);
  EXPECT_EQ(events, Strings{});
  EXPECT_EQ(keeper().count(name, kAlice), 2);
}

TEST_F(HoldTrackingTest, ManyChangesCauseFewLooks) {
  renewed(kAlice);
  pass(kOld);
  for (int i = 0; i < 200; ++i) {
    command({"HSET", name.text(), "other", std::to_string(i)});
    pass(Millis(10));
  }
  EXPECT_LE(looks(), 15) << "one in a quarter of a second, after the first ones";
  EXPECT_GE(looks() + lock_renewals(), 12) << "a renewal is a look, too";
  command({"DEL", name.text()});
  pass(Millis(260));
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(HoldTrackingTest, AKeyThatTheServerHasGivenUpIsTrackedAgain) {
  renewed(kAlice);
  pass(kOld);
  server.evict_tracked(name.text());
  pass(kAtOnce);
  EXPECT_EQ(events, Strings{});
  EXPECT_EQ(tracked(), 1U);
  command({"DEL", name.text()});
  expect_loss_at_once();
}

TEST_F(HoldTrackingTest, AHoldIsTrackedAgainOnAnotherStream) {
  renewed(kAlice);
  pass(kOld);
  break_connection();
  EXPECT_EQ(events, Strings{});
  pass(kOld);
  EXPECT_EQ(tracked(), 1U);
  command({"DEL", name.text()});
  expect_loss_at_once();
}

TEST_F(HoldTrackingTest, WithoutTheMessagesALossIsFoundByTheRenewal) {
  server.allow_tracking(false);
  renewed(kAlice);
  pass(kOld);
  EXPECT_EQ(tracked(), 0U);
  command({"DEL", name.text()});
  pass(Millis(100));
  EXPECT_EQ(events, Strings{});
  pass(kLease / 3);
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(HoldTrackingTest, WithoutTheMessagesLaterHoldsAreNotLookedAt) {
  server.allow_tracking(false);
  renewed(kAlice);
  pass(kOld);
  EXPECT_EQ(looks(), 1);
  renewed(kAlice, 2);
  release(kAlice);
  release(kAlice);
  renewed(kBob);
  pass(kOld);
  EXPECT_EQ(looks(), 1);
}

TEST_F(HoldTrackingTest, AHoldThatIsReleasedIsNotLost) {
  renewed(kAlice);
  pass(kOld);
  release(kAlice);
  pass(kAtOnce);
  EXPECT_EQ(events, Strings{});
  EXPECT_EQ(looks(), 1);
}

TEST_F(HoldTrackingTest, AHoldThatIsBeingPassedOnIsNotLookedAt) {
  grant(kAlice, 1, {Millis(240), true});  // its renewal and the first look fall due together
  (void)keeper().releases.begin_detach(name, kAlice, Millis(60000));
  pass(Millis(150));
  EXPECT_EQ(looks() + lock_renewals(), 0);
  EXPECT_EQ(tracked(), 0U);
  EXPECT_EQ(events, Strings{});
}

class UntrackedTest : public LeaseKeeperTest {};

TEST_F(UntrackedTest, WithoutTheOptionNothingIsLookedAt) {
  renewed(kAlice);
  pass(Millis(900));
  EXPECT_EQ(server.runs("lock/check"), 0);
}

TEST(LookBudgetTest, SomeLooksAtOnceThenOneInEachPause) {
  LookBudget budget;
  const LookBudget::Rate rate{Millis(100), 3};
  const TimePoint now = TimePoint(std::chrono::hours(1));
  for (const int late : {0, 0, 0, 100, 200, 300}) {
    EXPECT_EQ(budget.take(now, rate), now + Millis(late));
  }
  const TimePoint later = now + std::chrono::seconds(60);
  for (const int late : {0, 0, 0, 100}) EXPECT_EQ(budget.take(later, rate), later + Millis(late));
}

}  // namespace
}  // namespace holdfast::lease
