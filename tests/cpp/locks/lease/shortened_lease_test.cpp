// A read lock whose lease on the server another program sets, too: when the next renewal comes.

#include <gtest/gtest.h>

#include "locks/lease/keeper.h"
#include "locks/lease/keeper_fixture.h"

namespace holdfast::lease {
namespace {

constexpr Millis kOurs{30000};
constexpr Millis kUsual{10000};

class ShortenedLeaseTest : public LeaseKeeperTest {
 protected:
  void read(OwnerNumber owner, int count = 1, Lease lease = {kOurs, true}) {
    const std::string field = owner_field("client", owner);
    std::string bytes;
    script::Writer writer(bytes, true, "publish");
    sync::read_lock_recipe().steps.acquire.write(writer, {name, field, count, lease.time});
    ASSERT_EQ(execute(bytes), "$-1\r\n");
    Attempt attempt(keeper(), name, owner);
    (void)attempt.begin();
    ASSERT_TRUE(
        attempt.granted({name, owner, count, lease, world.now(), &sync::read_lock_recipe()}));
  }

  // What the other program's watchdog does, three times in its lease.
  void cut(Millis theirs) {
    simulation::Keyspace& data = server.data();
    data.find(name.text())->expires = data.milliseconds() + theirs.count();
  }
  void live_beside(Millis theirs, Duration time) {
    for (const TimePoint end = world.now() + time; world.now() < end; pass(theirs / 3)) cut(theirs);
  }

  void pass_until_renewed() {
    renewals.clear();
    while (renewals.empty()) pass(Millis(1));
    pass(kSoon);
  }
  Duration until_renewed() {
    const TimePoint from = world.now();
    pass_until_renewed();
    return world.now() - from;
  }
};

TEST_F(ShortenedLeaseTest, AReaderAloneIsRenewedEachThirdOfItsLease) {
  read(kAlice);
  pass(Millis(300'000));
  EXPECT_GE(longest_pause(world.now() - Millis(300'000)), kUsual * 9 / 10);
  EXPECT_LE(renewals.size(), 34U);
}

TEST_F(ShortenedLeaseTest, AShorterLeaseThatIsFoundIsOutrunFromThenOn) {
  read(kAlice);
  live_beside(Millis(3000), kOurs);
  renewals.clear();
  const TimePoint since = world.now();
  live_beside(Millis(3000), kOurs);
  EXPECT_LE(longest_pause(since), Millis(1000) + kSoon);
  for (int deaths = 0; deaths < 20; ++deaths) {
    live_beside(Millis(3000), Millis(1000 + world.random.below(3000)));
    pass(Millis(3000));
    EXPECT_GT(server_ttl(), 0);
  }
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  EXPECT_EQ(events, Strings{});
}

TEST_F(ShortenedLeaseTest, TheShortestLeaseCounts) {
  read(kAlice);
  live_beside(Millis(6000), kOurs);
  cut(Millis(900));
  pass_until_renewed();
  EXPECT_GT(server_ttl(), 29'000);
  live_beside(Millis(6000), Millis(6000));
  renewals.clear();
  const TimePoint since = world.now();
  live_beside(Millis(6000), Millis(6000));
  EXPECT_LE(longest_pause(since), Millis(300) + kSoon);
}

TEST_F(ShortenedLeaseTest, ItIsNotRenewedMoreOftenThanFourTimesASecond) {
  read(kAlice);
  live_beside(Millis(3000), Millis(9500));
  cut(Millis(100));
  renewals.clear();
  while (renewals.empty()) {
    cut(Millis(100));
    pass(Millis(1));
  }
  renewals.clear();
  pass(Millis(10'000));
  EXPECT_GE(renewals.size(), 39U);
  EXPECT_LE(renewals.size(), 46U);
}

TEST_F(ShortenedLeaseTest, AfterAWholeLeaseWithoutACutTheUsualPeriodIsBack) {
  read(kAlice);
  live_beside(Millis(3000), kOurs);
  pass(kOurs + Millis(1000));
  const TimePoint since = world.now();
  renewals.clear();
  pass(Millis(100'000));
  EXPECT_LE(renewals.size(), 12U);
  EXPECT_LE(longest_pause(since), kUsual + kSoon);
}

TEST_F(ShortenedLeaseTest, AnInnerHoldIsRenewedAsSoon) {
  read(kAlice);
  live_beside(Millis(3000), kOurs);
  read(kAlice, 2);
  EXPECT_LE(until_renewed(), Millis(1000) + 2 * kSoon);
}

TEST_F(ShortenedLeaseTest, AServerThatAnswersLateHasCutNothing) {
  read(kAlice);
  pass(Millis(9'000 - 10));
  server.pause(Millis(20'000));
  pass(Millis(21'000));
  pass_until_renewed();  // at its client's moment
  EXPECT_GE(until_renewed(), Millis(7'000));
  EXPECT_EQ(events, Strings{});
}

TEST_F(ShortenedLeaseTest, OfASilentServerTheShorterLeaseIsBelieved) {
  read(kAlice);
  live_beside(Millis(3000), kOurs);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  server.pause(Millis(60'000));
  pass(Millis(3000));
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(ShortenedLeaseTest, AnInnerHoldWithAShortLeaseDoesNotProlongTheBelief) {
  read(kAlice);
  live_beside(Millis(3000), kOurs);
  read(kAlice, 2, {Millis(500), false});
  server.pause(Millis(60'000));
  pass(Millis(3000));
  EXPECT_EQ(keeper().count(name, kAlice), 0);
}

TEST_F(ShortenedLeaseTest, AHoldThatIsNotRenewedAnyLongerHasItsWholeLease) {
  read(kAlice);
  live_beside(Millis(3000), kOurs);
  const std::uint32_t number = keeper().begin_extension(name, kAlice, Millis(60'000));
  keeper().extended(name, kAlice, {number, Millis(60'000)}, world.now());
  pass(Millis(50'000));
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(ShortenedLeaseTest, AnOwnExtensionCutsNothing) {
  read(kAlice);
  pass_until_renewed();
  const Millis shorter{20'000};
  const std::uint32_t number = keeper().begin_extension(name, kAlice, shorter);
  cut(shorter);
  keeper().extended(name, kAlice, {number, shorter}, world.now());
  read(kAlice, 2);
  pass_until_renewed();
  pass_until_renewed();  // at its client's moment
  EXPECT_GE(until_renewed(), kUsual * 8 / 10);
}

}  // namespace
}  // namespace holdfast::lease
