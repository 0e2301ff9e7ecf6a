// Holds that are renewed together: what goes out in one command, and that each hold has the answer
// that it would have alone.

#include "locks/lease/renewal_batch.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "locks/lease/hold.h"
#include "locks/lease/keeper_fixture.h"
#include "locks/sync/recipes/permit_semaphore.h"
#include "support/scripted_stream.h"

namespace holdfast::lease {
namespace {

class RenewalBatchTest : public LeaseKeeperTest {
 protected:
  explicit RenewalBatchTest(bool tracks = false) : LeaseKeeperTest(tracks) {
    server.on_renewal = [this](const auto&, const std::string& key, const auto&) {
      renewed_keys.insert(key);
      ++renewed_holds;
    };
  }

  static LockName lock(int number) { return LockName("lock" + std::to_string(number)); }

  void hold(const LockName& what, Lease lease = {kLease, true},
            const sync::HoldRecipe& recipe = sync::lock_recipe()) {
    const std::string field = owner_field("client", kAlice);
    std::string bytes;
    script::Writer writer(bytes, true, "publish");
    recipe.steps.acquire.write(writer, {what, field, 1, lease.time});
    (void)execute(bytes);
    Attempt attempt(keeper(), what, kAlice);
    (void)attempt.begin();
    ASSERT_TRUE(attempt.granted({what, kAlice, 1, lease, world.now(), &recipe}));
  }
  void hold_locks(int count) {
    for (int i = 0; i < count; ++i) hold(lock(i));
  }
  bool holds(const LockName& what) { return keeper().count(what, kAlice) == 1; }

  // All are renewed at once; the number of commands that this takes.
  int commands_for_all(const std::string& script = "lock/renew") {
    const int before = server.runs(script);
    keeper().watchdog().verify();
    pass(kSoon);
    return server.runs(script) - before;
  }
  // The same, while the server has stopped until resume().
  void begin_for_all() {
    server.pause(Millis(500));
    keeper().watchdog().verify();
    pass(kSoon);
  }
  void resume() { pass(Millis(600)); }

  // By another client.
  void command(std::vector<std::string> words) { (void)server.execute(Command{std::move(words)}); }
  std::int64_t left(const LockName& what) { return server.data().pttl(what.text()); }

  std::multiset<std::string> renewed_keys;
  int renewed_holds = 0;
};

TEST_F(RenewalBatchTest, HoldsThatWereTakenTogetherAreRenewedTogether) {
  hold_locks(40);
  pass(kLease * 4);
  EXPECT_GE(renewed_holds, 40 * 11);
  EXPECT_LE(server.runs("lock/renew"), 16);
  EXPECT_EQ(events, Strings{});
}

TEST_F(RenewalBatchTest, HoldsThatWereTakenApartComeTogether) {
  for (int i = 0; i < 40; ++i) {
    hold(lock(i));
    pass(kLease / 120);
  }
  pass(kLease);
  renewed_holds = 0;
  const int before = server.runs("lock/renew");
  pass(kLease * 4);
  EXPECT_GE(renewed_holds, 40 * 11);
  EXPECT_LE(server.runs("lock/renew") - before, 13);
}

TEST_F(RenewalBatchTest, ABatchHasFiftyKeysAtTheMost) {
  hold_locks(120);
  (void)commands_for_all();
  renewed_keys.clear();
  EXPECT_EQ(commands_for_all(), 3);
  EXPECT_EQ(renewed_keys.size(), 120U);
  EXPECT_EQ(events, Strings{});
}

TEST_F(RenewalBatchTest, EachKindAndLeaseHasItsBatches) {
  for (int i = 0; i < 4; ++i) {
    hold(lock(i));
    hold(LockName("long" + std::to_string(i)), {kLease * 2, true});
    hold(LockName("fair" + std::to_string(i)), {kLease, true}, sync::fair_lock_recipe());
    hold(LockName("rw" + std::to_string(i), Side::kWrite), {kLease, true},
         sync::write_lock_recipe());
    hold(LockName("ro" + std::to_string(i), Side::kRead), {kLease, true}, sync::read_lock_recipe());
  }
  command({"SET", "permits", "2"});
  hold(LockName("permits"), {kLease, true}, sync::permit_kind().renewed);
  EXPECT_EQ(commands_for_all(), 4);
  EXPECT_EQ(server.runs("read_write_lock/read_renew"), 1);
  EXPECT_EQ(server.runs("permit_semaphore/renew"), 1);
  EXPECT_GT(left(LockName("long0")), kLease.count());
  pass(kLease * 4);
  EXPECT_EQ(events, Strings{});
}

TEST_F(RenewalBatchTest, OnlyTheHoldThatIsGoneIsLost) {
  hold_locks(5);
  command({"DEL", "lock2"});
  EXPECT_EQ(commands_for_all(), 2) << "what a batch has not found is renewed alone";
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(events[0].find("lock2 of 1 lost: the server no longer has it"), std::string::npos);
  for (const int other : {0, 1, 3, 4}) EXPECT_TRUE(holds(lock(other)));
  EXPECT_EQ(commands_for_all(), 1);
}

TEST_F(RenewalBatchTest, OnlyTheHoldThatIsAnothersIsLost) {
  hold_locks(5);
  command({"DEL", "lock2"});
  command({"HSET", "lock2", "another", "1"});
  command({"PEXPIRE", "lock2", "1000"});
  (void)commands_for_all();
  EXPECT_EQ(events.size(), 1U);
  EXPECT_LE(left(lock(2)), 1000);
}

TEST_F(RenewalBatchTest, AKeyOfAnotherTypeHarmsNoOtherHold) {
  hold_locks(5);
  command({"DEL", "lock2"});
  command({"SET", "lock2", "text"});
  EXPECT_EQ(commands_for_all(), 6) << "one that is refused, and each alone";
  const Strings lost{"lock2 of 1 lost: its key holds something else: WRONGTYPE"};
  EXPECT_EQ(events, lost);
  for (const int other : {0, 1, 3, 4}) EXPECT_GT(left(lock(other)), kLease.count() - 20);
  const int before = server.runs("lock/renew");
  pass(kLease);
  EXPECT_EQ(events, lost);
  EXPECT_LE(server.runs("lock/renew") - before, 4) << "the others together";
  for (const int other : {0, 1, 3, 4}) EXPECT_TRUE(holds(lock(other)));
}

TEST_F(RenewalBatchTest, AProxyThatRefusesBatchesForTheirSlotsGetsNoneForAMinute) {
  server.divide(true);
  hold_locks(5);
  EXPECT_EQ(commands_for_all(), 5);
  EXPECT_EQ(server.refused(), 1);
  pass(kLease * 3);
  EXPECT_EQ(server.refused(), 1);
  EXPECT_EQ(events, Strings{});
  server.divide(false);
  pass(Millis(60'000));
  EXPECT_EQ(commands_for_all(), 1);
}

TEST_F(RenewalBatchTest, AHoldThatIsReleasedBeforeItsBatchGoesOutIsLeftOut) {
  hold_locks(5);
  (void)commands_for_all();
  server.restart(true, Millis(100), {});
  break_connection();
  pass(Millis(5));
  ASSERT_EQ(keeper().releases.begin(lock(2), kAlice, {}).kind, ReleasePlan::Kind::kFinal);
  renewed_keys.clear();
  pass(Millis(400));
  EXPECT_EQ(renewed_keys.count("lock2"), 0U);
  for (const int other : {0, 1, 3, 4}) EXPECT_GE(renewed_keys.count(lock(other).text()), 1U);
  EXPECT_EQ(events, Strings{});
}

TEST_F(RenewalBatchTest, ABatchWhoseHoldsAreAllReleasedRenewsNothing) {
  hold_locks(2);
  (void)commands_for_all();
  server.restart(true, Millis(100), {});
  break_connection();
  pass(Millis(5));
  for (const int each : {0, 1}) (void)keeper().releases.begin(lock(each), kAlice, {});
  renewed_holds = 0;
  pass(kLease);
  EXPECT_EQ(renewed_holds, 0);
  EXPECT_EQ(events, Strings{});
}

TEST_F(RenewalBatchTest, TheAnswerToABatchIsNothingToAHoldThatWasReleasedMeanwhile) {
  hold_locks(3);
  begin_for_all();
  const ReleasePlan plan = keeper().releases.begin(lock(1), kAlice, {});
  command({"DEL", "lock1"});
  keeper().releases.done(lock(1), kAlice, plan);
  resume();
  EXPECT_EQ(events, Strings{});
  EXPECT_FALSE(keeper().known(lock(1), kAlice).lost);
  EXPECT_TRUE(holds(lock(0)));
}

TEST_F(RenewalBatchTest, ABatchPromisesNoMoreThanAnExtensionThatHasBegunMeanwhile) {
  hold_locks(3);
  begin_for_all();
  const std::uint32_t number = keeper().begin_extension(lock(1), kAlice, Millis(1500));
  resume();
  command({"PEXPIRE", "lock1", "1500"});
  keeper().extended(lock(1), kAlice, {number, Millis(1500)}, world.now());
  EXPECT_LE(keeper().known(lock(1), kAlice).left, Millis(1500));
  EXPECT_GE(keeper().known(lock(0), kAlice).left, Millis(2000));
  EXPECT_EQ(events, Strings{});
}

// By a detach whose reply has not come: the hold may have the field of a ticket.
TEST_F(RenewalBatchTest, ABatchThatMeetsAHoldBeingPassedOnIsNoLoss) {
  hold_locks(3);
  begin_for_all();
  const std::string ticket = keeper().releases.begin_detach(lock(1), kAlice, Millis(2000));
  command({"HDEL", "lock1", owner_field("client", kAlice)});
  command({"HSET", "lock1", ticket, "1"});
  resume();
  EXPECT_EQ(events, Strings{});
}

TEST_F(RenewalBatchTest, AHoldWhoseDetachHasNoAnswerIsLeftToTheShorterLease) {
  hold_locks(2);
  const TimePoint until = after(world.now(), Millis(2000));
  (void)keeper().releases.begin_detach(lock(1), kAlice, Millis(2000));
  EXPECT_EQ(keeper().begin_extension(lock(1), kAlice, kLease), 0U);
  pass(Millis(1900));
  EXPECT_EQ(keeper().count(lock(1), kAlice), 1);
  (void)keeper().releases.begin_detach(lock(1), kAlice, kLease);
  EXPECT_LE(after(world.now(), *keeper().known(lock(1), kAlice).left), until);
  pass(Millis(200));
  EXPECT_EQ(keeper().count(lock(1), kAlice), 0);
  EXPECT_EQ(keeper().count(lock(0), kAlice), 1);
}

TEST_F(RenewalBatchTest, AServerThatForgotTheScriptGetsItsText) {
  hold_locks(120);
  (void)commands_for_all();
  server.flush_scripts();
  EXPECT_EQ(commands_for_all(), 3);
  EXPECT_EQ(commands_for_all(), 3);
  EXPECT_EQ(events, Strings{});
}

TEST_F(RenewalBatchTest, ABatchOnAStreamThatBreaksIsSentOnTheNextOne) {
  hold_locks(5);
  begin_for_all();
  renewed_keys.clear();
  break_connection();
  resume();
  EXPECT_EQ(events, Strings{});
  for (int i = 0; i < 5; ++i) {
    EXPECT_GE(renewed_keys.count(lock(i).text()), 1U);
    EXPECT_GT(left(lock(i)), kLease.count() - 700);
  }
}

TEST_F(RenewalBatchTest, AServerThatDoesNotAnswerCostsAllTheHoldsOfABatch) {
  hold_locks(5);
  server.pause(kLease * 5);
  pass(kLease);
  EXPECT_EQ(events.size(), 5U);
}

// What was on its way when its connection failed may be executed yet.
TEST_F(RenewalBatchTest, ARenewalWhoseConnectionFailedMayArriveUntilTheCommandTimeOut) {
  hold_locks(2);
  begin_for_all();
  ASSERT_EQ(keeper().releases.begin(lock(0), kAlice, {}).kind, ReleasePlan::Kind::kFinal);
  EXPECT_TRUE(keeper().renewal_on_wire(lock(0), kAlice));
  break_connection();
  resume();
  EXPECT_TRUE(keeper().renewal_on_wire(lock(0), kAlice));
  pass(client().plan().command_timeout);
  EXPECT_FALSE(keeper().renewal_on_wire(lock(0), kAlice));
}

TEST_F(RenewalBatchTest, ARenewalThatWasNotWrittenBeforeTheReleaseIsNotOnItsWay) {
  hold_locks(2);
  server.restart(true, Millis(100), {});
  break_connection();
  pass(Millis(5));
  keeper().watchdog().verify();
  pass(Millis(1));
  ASSERT_EQ(keeper().releases.begin(lock(0), kAlice, {}).kind, ReleasePlan::Kind::kFinal);
  EXPECT_FALSE(keeper().renewal_on_wire(lock(0), kAlice));
}

// As a node of a cluster that has left it.
class OneClosedTopology final : public topology::Topology {
 public:
  OneClosedTopology(std::string key, std::shared_ptr<topology::Topology> others)
      : key_(std::move(key)), others_(std::move(others)) {
    closed_->close(Status::closed("the node has left"));
  }
  std::shared_ptr<client::Connection> route(std::string_view key,
                                            topology::Traffic traffic) override {
    return key == key_ ? closed_ : others_->route(key, traffic);
  }
  std::optional<topology::Slot> slot(std::string_view key) const override {
    return static_cast<topology::Slot>(key == key_ ? 1 : 2);
  }
  void subscribe(const std::string& /*channel*/) override {}
  void release(const std::string& /*channel*/, Duration /*linger*/) override {}
  std::shared_ptr<client::Subscriber> subscriber(const std::string& /*channel*/) override {
    return nullptr;
  }
  std::string_view publish_command() const override { return "publish"; }
  std::string text() const override { return "two servers"; }
  void close(const Status& /*why*/) override {}

 private:
  const std::string key_;
  const std::shared_ptr<topology::Topology> others_;
  simulation::World world_{1};
  simulation::NoLoop loop_;
  const std::shared_ptr<client::Connection> closed_ =
      std::make_shared<client::Connection>(world_, loop_, client::Connection::Setup{});
};

TEST_F(RenewalBatchTest, AClosedConnectionOfOneHoldKeepsNoOtherFromItsRenewal) {
  const auto topology = std::make_shared<OneClosedTopology>("lock0", client().context()->topology);
  keeper().watchdog().set_topology(topology, Millis(1000));
  hold_locks(3);
  for (int i = 0; i < 4; ++i) pass(kLease / 3);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(events[0].find("lock0 of 1 lost: "), std::string::npos) << events[0];
  EXPECT_EQ(renewed_keys.count("lock0"), 0U);
  for (const int other : {1, 2}) EXPECT_TRUE(holds(lock(other)));
}

TEST_F(RenewalBatchTest, ARenewalCountsAsFailedWhenItIsOverdueWhateverComesBetween) {
  const auto failures = [this] {
    return client().context()->stats->total(Stats::Counter::kRenewalFailures);
  };
  constexpr Millis kLong{9000};  // overdue after a second, renewed after three
  hold(lock(0), {kLong, true});
  server.pause(kLong);
  keeper().watchdog().verify();
  pass(Millis(100));
  hold(lock(1), {kLong, true});
  pass(Millis(880));
  EXPECT_EQ(failures(), 0);
  pass(Millis(30));
  EXPECT_EQ(failures(), 1);
}

TEST_F(RenewalBatchTest, ARenewalOfAShorterLeaseIsOverdueBeforeALongerOnesThatWentOutFirst) {
  constexpr Millis kShort{600};
  hold(lock(0));
  hold(lock(1), {kShort, true});
  server.pause(kLease);
  keeper().watchdog().verify();
  pass(kShort / 3 + kSoon);
  EXPECT_EQ(client().context()->stats->total(Stats::Counter::kRenewalFailures), 1);
}

class TrackedBatchTest : public RenewalBatchTest {
 protected:
  TrackedBatchTest() : RenewalBatchTest(true) {}
};

TEST_F(TrackedBatchTest, AllHoldsOfABatchAreStillTracked) {
  hold_locks(40);
  pass(Millis(300));
  EXPECT_EQ(commands_for_all(), 1);
  for (int i = 0; i < 40; ++i) {
    command({"DEL", lock(i).text()});
    pass(Millis(4));
    EXPECT_EQ(events.size(), static_cast<std::size_t>(i) + 1);
  }
}

TEST_F(TrackedBatchTest, BatchesAreSmallWhereEachReadingTracksAllKeysOfTheScript) {
  server.set_version("7.0.15");
  hold_locks(40);
  pass(Millis(300));
  EXPECT_EQ(commands_for_all(), 5);
}

TEST(RenewalBatchReplyTest, AReplyIsAboutTheHoldsThatWereNotLeftOut) {
  const Grant grant{LockName("lock"), kAlice, 1, {}, {}, &sync::lock_recipe()};
  RenewalBatch batch({}, {grant.renewal, kLease, std::nullopt}, 3);
  for (int i = 0; i < 3; ++i) batch.add(HoldPtr(new Hold(grant, grant.owner)), kNever);
  batch.holds()[0]->stop_renewing();
  std::string command;
  (void)batch.encode(command, false);
  const std::string first_of_two_is_gone = "*1\r\n:1\r\n";
  resp::Reader reader;
  reader.feed(first_of_two_is_gone.data(), first_of_two_is_gone.size());
  const RenewalBatch::Found expected{std::nullopt, 0, 1};
  EXPECT_EQ(batch.found(std::move(*reader.next().value())), expected);
}

// What RenewalBatches makes of holds with keys in these slots.
std::vector<std::size_t> sizes(const std::vector<std::optional<topology::Slot>>& slots,
                               std::size_t most_keys = 50) {
  RenewalBatches batches({}, most_keys);
  for (const auto& slot : slots) {
    const Grant grant{LockName("lock"), kAlice, 1, {}, {}, &sync::lock_recipe()};
    batches.add({HoldPtr(new Hold(grant, grant.owner)), kNever}, slot);
  }
  std::vector<std::size_t> all;
  for (const auto& batch : batches.take()) all.push_back(batch->holds().size());
  return all;
}

TEST(RenewalBatchesTest, ABatchHasKeysOfOneSlot) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sizes({7, 8, 7, 8, 7, 0}), (Sizes{3, 2, 1}));
  EXPECT_EQ(sizes({7, 7, 7, 7, 7}, 2), (Sizes{2, 2, 1}));
  EXPECT_EQ(sizes({std::nullopt, std::nullopt}), Sizes{2});
}

}  // namespace
}  // namespace holdfast::lease
