#include "lease/lease_keeper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "support/client.h"
#include "support/server.h"
#include "support/world.h"
#include "sync/lock.h"

namespace holdfast::lease {
namespace {

using simulation::Client;
using simulation::Command;
using simulation::Server;
using Verdict = ReleasePlan::Verdict;
using Strings = std::vector<std::string>;

constexpr Millis kLease{3000};
constexpr OwnerNumber kAlice{1};
constexpr OwnerNumber kBob{2};
// A packet there and back, and the granularity of timers.
constexpr Millis kSoon{10};

// A keeper with its connection to a simulated server, on a simulated clock.
class LeaseKeeperTest : public ::testing::Test {
 protected:
  LeaseKeeperTest() {
    network_.weather.slow_per_mille = 0;
    client_->on_event = [this](const Event& event) {
      const char* kind = event.kind == Event::Kind::kLost ? "lost: " : "abandoned";
      events.push_back(event.name + " of " + std::to_string(event.owner) + " " + kind +
                       event.reason);
      told_at = world.now();
    };
    server.on_renewal = [this](const auto&, const auto&, const auto&) {
      renewals.push_back(world.now());
    };
  }
  ~LeaseKeeperTest() override {
    client_->close();
    loop_.run(kSoon);
    loop_.stop();
  }

  LeaseKeeper& keeper() { return client_->keeper(); }
  void pass(Duration time) { loop_.run(time); }

  // What an acquisition does: on the server, and with the keeper.
  void grant(OwnerNumber owner, int count, Lease lease) {
    const std::string field = owner_field("client", owner);
    std::string bytes;
    sync::lock_recipe().acquire(bytes, {name, field, count, lease.time, {}, true});
    ASSERT_EQ(execute(bytes), "$-1\r\n");
    keeper().granted({name, owner, count, lease, world.now(), &sync::lock_recipe(), 0});
  }
  void watched(OwnerNumber owner, int count = 1) { grant(owner, count, {kLease, true}); }
  void fixed(OwnerNumber owner, Millis lease, int count = 1) {
    grant(owner, count, {lease, false});
  }

  // And a release.
  void release(OwnerNumber owner) {
    const ReleasePlan plan = keeper().begin_release(name, owner, false);
    std::string bytes;
    const std::string field = owner_field("client", owner);
    sync::lock_recipe().release(bytes, {name, field, plan.remaining, Millis(0), "publish", true});
    execute(bytes);
    keeper().released(name, owner, plan);
  }

  std::string execute(const std::string& bytes) {
    simulation::CommandParser parser;
    std::vector<Command> commands;
    parser.feed(bytes, commands);
    return server.execute(commands.at(0));
  }

  // The wire of the renewals breaks.
  void break_connection() {
    for (const auto& wire : network_.open_wires()) wire->cut(false);
  }

  std::int64_t server_ttl() {
    const Server::Key* key = server.find(name.bytes());
    return key == nullptr ? -2 : key->expires - server.milliseconds();
  }

  Duration longest_pause(TimePoint since) const {
    Duration longest{};
    for (const TimePoint at : renewals) longest = std::max(longest, at - std::exchange(since, at));
    return longest;
  }

  simulation::World world{1};
  Server server{world, 0};
  Strings events;
  TimePoint told_at{};
  std::vector<TimePoint> renewals;
  const LockName name{"lock"};

 private:
  simulation::Network network_{world, server};
  simulation::SteppedLoop loop_{world, network_};
  const std::shared_ptr<Client> client_ =
      Client::make(world, network_, loop_, {"client", kLease, Millis(1000), 10});
};

TEST_F(LeaseKeeperTest, CountsTheHoldsOfEachOwner) {
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  watched(kAlice);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  watched(kAlice, 2);
  EXPECT_EQ(keeper().count(name, kAlice), 2);
  EXPECT_EQ(keeper().count(name, kBob), 0);
  EXPECT_EQ(keeper().count(LockName("other"), kAlice), 0);
}

TEST_F(LeaseKeeperTest, TrustsAHoldForItsLeaseLessTheMargins) {
  fixed(kAlice, Millis(1000));
  EXPECT_EQ(keeper().left(name, kAlice), Millis(988));
  pass(Millis(988) - Duration(1));
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  EXPECT_FALSE(keeper().lost(name, kAlice));
  pass(Duration(1));
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_TRUE(keeper().lost(name, kAlice));
  EXPECT_EQ(keeper().left(name, kAlice), std::nullopt);
}

TEST_F(LeaseKeeperTest, TellsOnceThatALeaseRanOut) {
  const TimePoint start = world.now();
  fixed(kAlice, Millis(1000));
  pass(Millis(5000));
  EXPECT_EQ(events, Strings{"lock of 1 lost: its lease ran out"});
  EXPECT_LE(told_at - start, Millis(989));
  EXPECT_EQ(renewals.size(), 0U);
}

TEST_F(LeaseKeeperTest, RenewsAWatchedHoldEachThirdOfItsLease) {
  const TimePoint start = world.now();
  watched(kAlice);
  pass(Millis(30000));
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  EXPECT_EQ(events, Strings{});
  EXPECT_GE(renewals.size(), 29U);
  EXPECT_LE(renewals.size(), 34U);
  EXPECT_LE(longest_pause(start), Millis(1020));
}

TEST_F(LeaseKeeperTest, RenewalsStopWithTheLastWatchedHold) {
  fixed(kAlice, Millis(60000));
  watched(kAlice, 2);
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
  watched(kAlice, 2);
  pass(Millis(2000));
  ASSERT_GE(renewals.size(), 1U);
  release(kAlice);
  const auto left = std::chrono::duration_cast<Millis>(*keeper().left(name, kAlice));
  EXPECT_GE(server_ttl(), left.count());
}

TEST_F(LeaseKeeperTest, AFailedRenewalIsTriedAgainWithinAQuarterOfASecond) {
  watched(kAlice);
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
  watched(kAlice);
  pass(Millis(900));
  server.pause(Millis(2000));
  pass(Millis(20000));
  EXPECT_EQ(events, Strings{});
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(LeaseKeeperTest, WithoutAnyAnswerTheHoldIsLostWhenItsTimeIsOver) {
  const TimePoint start = world.now();
  watched(kAlice);
  server.pause(Millis(20000));
  pass(Millis(10000));
  EXPECT_EQ(events, Strings{"lock of 1 lost: no renewal got through before its lease was over"});
  EXPECT_GE(told_at - start, Millis(2968));
  EXPECT_LE(told_at - start, Millis(2969));
}

TEST_F(LeaseKeeperTest, ARefusedRenewalIsALoss) {
  watched(kAlice);
  pass(Millis(100));
  server.flush_data();
  pass(Millis(1000));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(events[0].find("the server does not know it any more"), std::string::npos);
  EXPECT_TRUE(keeper().lost(name, kAlice));
}

TEST_F(LeaseKeeperTest, AServerThatForgotTheScriptGetsItsText) {
  watched(kAlice);
  pass(Millis(1500));
  server.flush_scripts();
  pass(Millis(20000));
  EXPECT_EQ(events, Strings{});
}

TEST_F(LeaseKeeperTest, ABrokenConnectionHasAllHoldsVerifiedAtOnce) {
  watched(kAlice);
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
  keeper().verify();
  pass(kSoon);
  EXPECT_EQ(server_ttl(), before - kSoon.count());
  EXPECT_EQ(events, Strings{});
  server.flush_data();
  keeper().verify();
  pass(kSoon);
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(LeaseKeeperTest, AnOwnerThatEndsLosesItsRenewals) {
  watched(kAlice);
  watched(kAlice, 2);
  keeper().owner_ended(kAlice);
  EXPECT_EQ(events, Strings{"lock of 1 abandoned"});
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_FALSE(keeper().lost(name, kAlice));
  pass(Millis(10000));
  EXPECT_EQ(renewals.size(), 0U);
  EXPECT_FALSE(server.holds("lock", "client:1"));
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(LeaseKeeperTest, ALossIsToldOnce) {
  watched(kAlice);
  keeper().lose(name, kAlice, "somebody said so");
  keeper().lose(name, kAlice, "somebody else said so");
  keeper().forced(name);
  pass(Millis(10000));
  EXPECT_EQ(events, Strings{"lock of 1 lost: somebody said so"});
  EXPECT_EQ(renewals.size(), 0U);
}

TEST_F(LeaseKeeperTest, AGrantAfterALossIsANewHold) {
  fixed(kAlice, Millis(100));
  pass(Millis(200));
  ASSERT_TRUE(keeper().lost(name, kAlice));
  watched(kAlice);
  EXPECT_FALSE(keeper().lost(name, kAlice));
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  pass(Millis(10000));
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(LeaseKeeperTest, ClosedItKnowsWhatWasHeldAndForgetsIt) {
  watched(kAlice);
  EXPECT_EQ(keeper().close(), Strings{"lock"});
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  pass(Millis(10000));
  EXPECT_EQ(events, Strings{});
  EXPECT_EQ(renewals.size(), 0U);
}

// ---- releases

TEST_F(LeaseKeeperTest, NothingIsReleasedByWhoeverHoldsNothing) {
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict, Verdict::kNotOwned);
  watched(kAlice);
  EXPECT_EQ(keeper().begin_release(name, kBob, false).verdict, Verdict::kNotOwned);
}

TEST_F(LeaseKeeperTest, APartialReleaseKeepsTheHold) {
  watched(kAlice);
  watched(kAlice, 2);
  const ReleasePlan plan = keeper().begin_release(name, kAlice, false);
  EXPECT_EQ(plan.verdict, Verdict::kPartial);
  EXPECT_EQ(plan.remaining, 1);
  keeper().released(name, kAlice, plan);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  pass(Millis(10000));
  EXPECT_EQ(events, Strings{});
  EXPECT_GE(renewals.size(), 9U);
}

TEST_F(LeaseKeeperTest, AllHoldsCanBeReleasedAtOnce) {
  watched(kAlice);
  watched(kAlice, 2);
  const ReleasePlan plan = keeper().begin_release(name, kAlice, true);
  EXPECT_EQ(plan.verdict, Verdict::kFinal);
  EXPECT_EQ(plan.remaining, 0);
}

TEST_F(LeaseKeeperTest, NoRenewalFollowsAFinalRelease) {
  watched(kAlice);
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

TEST_F(LeaseKeeperTest, ARenewalOnItsWayIsNotSentAfterAFinalRelease) {
  watched(kAlice);
  pass(Millis(1100));
  server.restart(true, Millis(100), {});
  break_connection();
  pass(Millis(5));
  renewals.clear();
  (void)keeper().begin_release(name, kAlice, false);
  pass(Millis(5000));
  EXPECT_EQ(renewals.size(), 0U);
}

TEST_F(LeaseKeeperTest, ALostHoldIsReportedByOneRelease) {
  fixed(kAlice, Millis(100));
  pass(Millis(200));
  const ReleasePlan plan = keeper().begin_release(name, kAlice, false);
  EXPECT_EQ(plan.verdict, Verdict::kLost);
  EXPECT_EQ(plan.reason, "its lease ran out");
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict, Verdict::kNotOwned);
}

TEST_F(LeaseKeeperTest, ARepeatedFinalReleaseSaysSo) {
  watched(kAlice);
  EXPECT_FALSE(keeper().begin_release(name, kAlice, false).repeated);
  const ReleasePlan again = keeper().begin_release(name, kAlice, false);
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(again.verdict, Verdict::kFinal);
}

TEST_F(LeaseKeeperTest, OnceFinalAReleaseStaysFinal) {
  watched(kAlice);
  watched(kAlice, 2);
  (void)keeper().begin_release(name, kAlice, true);
  const ReleasePlan again = keeper().begin_release(name, kAlice, false);
  EXPECT_EQ(again.verdict, Verdict::kFinal);
  EXPECT_EQ(again.remaining, 0);
}

TEST_F(LeaseKeeperTest, ALateReleaseIsToldByTheNextOne) {
  watched(kAlice);
  const ReleasePlan plan = keeper().begin_release(name, kAlice, false);
  keeper().released_late(name, kAlice, plan, true);
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict, Verdict::kDone);
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict, Verdict::kNotOwned);
}

TEST_F(LeaseKeeperTest, ALateReleaseThatCameToNothingIsALoss) {
  watched(kAlice);
  const ReleasePlan plan = keeper().begin_release(name, kAlice, false);
  keeper().released_late(name, kAlice, plan, false);
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict, Verdict::kLost);
}

TEST_F(LeaseKeeperTest, AnOldReleaseDoesNotTouchANewHold) {
  watched(kAlice);
  const ReleasePlan plan = keeper().begin_release(name, kAlice, false);
  EXPECT_FALSE(keeper().superseded(name, kAlice, plan));
  EXPECT_EQ(keeper().begin_attempt(name, kAlice), 1);
  EXPECT_TRUE(keeper().superseded(name, kAlice, plan));
  watched(kAlice);
  EXPECT_TRUE(keeper().superseded(name, kAlice, plan));
  keeper().released(name, kAlice, plan);
  keeper().released_late(name, kAlice, plan, false);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(LeaseKeeperTest, AnAcquisitionKnowsTheCountItMakes) {
  EXPECT_EQ(keeper().begin_attempt(name, kAlice), 1);
  fixed(kAlice, Millis(1000));
  EXPECT_EQ(keeper().begin_attempt(name, kAlice), 2);
  EXPECT_EQ(keeper().begin_attempt(name, kBob), 1);
  pass(Millis(990));
  EXPECT_EQ(keeper().begin_attempt(name, kAlice), 1);
}

// ---- what others do to a hold

TEST_F(LeaseKeeperTest, AForcedReleaseIsALossForEverybodyButWhoReleases) {
  watched(kAlice);
  keeper().granted({name, kBob, 1, {kLease, true}, world.now(), &sync::lock_recipe(), 0});
  (void)keeper().begin_release(name, kBob, false);
  keeper().forced(name);
  EXPECT_EQ(events, Strings{"lock of 1 lost: it was released by force"});
}

TEST_F(LeaseKeeperTest, AnExtensionReplacesTheLeaseAndEndsTheRenewals) {
  watched(kAlice);
  keeper().begin_extension(name, kAlice, Millis(20000));
  EXPECT_EQ(keeper().left(name, kAlice), Millis(2968));
  keeper().extended(name, kAlice, Millis(20000), world.now());
  EXPECT_EQ(keeper().left(name, kAlice), Millis(19798));
  pass(Millis(10000));
  EXPECT_EQ(renewals.size(), 0U);
  EXPECT_EQ(events, Strings{});
}

TEST_F(LeaseKeeperTest, AnExtensionToLessCountsBeforeItsAnswer) {
  watched(kAlice);
  keeper().begin_extension(name, kAlice, Millis(100));
  EXPECT_EQ(keeper().left(name, kAlice), Millis(97));
  pass(Millis(200));
  EXPECT_EQ(events, Strings{"lock of 1 lost: its lease ran out"});
}

}  // namespace
}  // namespace holdfast::lease
