// The plain path of a lock for tasks, and each way off it.

#include "sync/plain_task.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "support/one_server.h"
#include "support/scripted_stream.h"
#include "sync/acquire_operation.h"
#include "sync/kinds.h"

namespace holdfast::sync {
namespace {

using simulation::NoEvents;
using simulation::NoLoop;
using simulation::NoSubscriptions;
using simulation::OneServer;
using simulation::Script;
using simulation::ScriptedStream;

constexpr OwnerNumber kAlice{7};
constexpr OwnerNumber kBob{8};
constexpr Lease kLease{Millis(3000), true};
constexpr Millis kPatience{5000};
constexpr std::uint64_t kId = 1;
const std::string kGranted = "$-1\r\n";
const std::string kReleased = ":1\r\n";

// What an event loop gets.
class Kept final : public Completion {
 public:
  void done(std::uint64_t /*id*/, Outcome outcome) override {
    ++times;
    last = std::move(outcome);
  }
  int times = 0;
  std::optional<Outcome> last;
};

class PlainTaskTest : public ::testing::Test {
 protected:
  PlainTaskTest() {
    client::Connection::Setup setup;
    setup.driver = client::Connection::Driver::kLoop;
    setup.open = [this](const client::StreamOptions&) {
      return std::make_unique<ScriptedStream>(script);
    };
    connection = std::make_shared<client::Connection>(script.clock, loop, setup);
    const auto topology = std::make_shared<OneServer>(connection);
    const auto keeper = std::make_shared<lease::LeaseKeeper>(script.clock, loop, "client",
                                                             std::make_shared<NoEvents>());
    keeper->set_topology(topology);
    context = std::shared_ptr<const Context>(
        new Context{script.clock, "client", kPatience, topology, keeper,
                    std::make_shared<wait::WaitRegistry>(subscriptions),
                    std::make_shared<Timers>(script.clock, loop)});
    acquire();
    release();
    script.got.clear();
  }
  ~PlainTaskTest() override { context->topology->close(Status::closed("over")); }

  // The connection's reader: it sends what there is, and takes these replies, one after the other.
  void serve(std::initializer_list<std::string> replies = {}) {
    for (int i = 0; i < 3; ++i) (void)connection->step(script.clock.now());
    for (const std::string& reply : replies) {
      (void)connection->step(script.clock.now());  // what the reply before it has led to is sent
      script.replies = {reply};
      (void)connection->step(script.clock.now());
    }
  }
  void begin(ExchangePtr exchange) {
    kept = std::make_shared<Kept>();
    begun = std::move(exchange);
    if (begun) begun->finish_to(kept, kId);
  }
  void begin_acquire(OwnerNumber owner = kAlice, bool blocking = false) {
    begin(lock->acquire(context, {owner, kLease, 0, blocking}));
  }
  void acquire(OwnerNumber owner = kAlice, const std::string& reply = kGranted) {
    begin_acquire(owner);
    serve({reply});
  }
  void begin_release(OwnerNumber owner = kAlice) { begin(lock->release(context, owner)); }
  void release(OwnerNumber owner = kAlice, const std::string& reply = kReleased) {
    begin_release(owner);
    serve({reply});
  }

  Verdict verdict() const { return kept->last.value().verdict; }
  lease::LeaseKeeper& keeper() { return *context->keeper; }
  std::int64_t total(Stats::Counter counter) const { return context->stats->total(counter); }

  Script script;
  NoLoop loop;
  NoSubscriptions subscriptions;
  const LockName name{"the lock"};
  std::shared_ptr<client::Connection> connection;
  std::shared_ptr<const Context> context;
  std::shared_ptr<PlainTaskLock> lock =
      std::make_shared<PlainTaskLock>(lock_recipe(), name, AcquireOptions{});
  std::shared_ptr<Kept> kept;
  ExchangePtr begun;
};

TEST_F(PlainTaskTest, AGrantAndAReleaseAreOneCommandEach) {
  acquire();
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  release();
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_TRUE(keeper().idle());
  std::string expected;
  script::Writer writer(expected, false, "publish");
  lock_recipe().acquire(writer, {name, "client:7", 1, kLease.time});
  lock_recipe().release(writer, {name, "client:7"});
  EXPECT_EQ(script.got, expected);
}

TEST_F(PlainTaskTest, ItIsAmongTheFigures) {
  const auto acquired = total(Stats::Counter::kAcquired);
  acquire();
  EXPECT_EQ(total(Stats::Counter::kAcquired), acquired + 1);
}

TEST_F(PlainTaskTest, HeldByAnotherTheMachineGoesOn) {
  acquire(kAlice, ":2000\r\n");
  EXPECT_EQ(verdict(), Verdict::kBusy);
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(PlainTaskTest, HeldByAnotherACallerThatBlocksJoinsTheQueue) {
  begin_acquire(kAlice, true);
  serve({":2000\r\n"});
  EXPECT_FALSE(kept->last);
  EXPECT_FALSE(context->waits->idle(lock_recipe().channel(name, {}).bytes()));
  begun->cancel();
  EXPECT_EQ(verdict(), Verdict::kCancelled);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(PlainTaskTest, ANestedHoldIsDoneByAnOperation) {
  acquire();
  acquire();
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(keeper().count(name, kAlice), 2);
  release(kAlice, ":0\r\n");
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(PlainTaskTest, AReleaseOfAnotherOwnersHoldIsDoneByAnOperation) {
  acquire();
  begin_release(kBob);
  EXPECT_EQ(verdict(), Verdict::kBusy);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(PlainTaskTest, WhereOthersWaitItIsNotPlain) {
  acquire();
  const AcquireRequest request{name, kBob, kLease};
  const auto other = std::make_shared<AcquireOperation>(context, lock_recipe(), request);
  const std::string channel = lock_recipe().channel(name, {}).bytes();
  (void)context->waits->join(channel, other, std::nullopt);
  EXPECT_EQ(lock->release(context, kAlice), nullptr);
  EXPECT_EQ(lock->acquire(context, {kBob, kLease}), nullptr);
  (void)context->waits->leave(channel, *other, wait::LeaveReason::kGaveUp, kNever);
}

TEST_F(PlainTaskTest, AnotherLeaseIsNotPlain) {
  EXPECT_EQ(lock->acquire(context, {kAlice, {Millis(4000), false}}), nullptr);
}

TEST_F(PlainTaskTest, AServerThatDoesNotKnowTheScriptGetsItsText) {
  begin_acquire();
  serve({"-NOSCRIPT No matching script.\r\n", kGranted});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_GE(script.count("\r\nEVAL\r\n"), 1);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(PlainTaskTest, AGrantThatComesAfterItsLeaseIsGivenBack) {
  begin_acquire();
  serve();
  script.clock.advance(kLease.time);
  serve({kGranted, kReleased});
  EXPECT_EQ(verdict(), Verdict::kExpired);
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_EQ(script.count("client:7"), 2);
}

TEST_F(PlainTaskTest, AReplyCutInTwoIsAGrant) {
  begin_acquire();
  serve({"$-", "1\r\n"});
  EXPECT_EQ(verdict(), Verdict::kGranted);
}

TEST_F(PlainTaskTest, AnAttemptCancelledInFlightIsTakenBackBehindItself) {
  begin_acquire();
  serve();
  begun->cancel();
  EXPECT_EQ(verdict(), Verdict::kCancelled);
  serve({kGranted});
  EXPECT_EQ(script.count("client:7"), 2);
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_FALSE(keeper().idle()) << "the release is pending";
  serve({kReleased});
  EXPECT_TRUE(keeper().idle());
  EXPECT_EQ(kept->times, 1);
}

TEST_F(PlainTaskTest, AnAttemptCancelledBeforeItIsSentIsNotSent) {
  begin_acquire();
  begun->cancel();
  serve({kReleased});
  EXPECT_EQ(script.count("client:7"), 1) << "the release that takes it back";
  EXPECT_TRUE(keeper().idle());
}

TEST_F(PlainTaskTest, AGrantThatItsCallerWillNotSeeIsGivenBack) {
  acquire();
  begun->cancel();
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  serve({kReleased});
  EXPECT_EQ(script.count("client:7"), 2);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(PlainTaskTest, ACancelledReleaseStaysPendingUntilItsReply) {
  acquire();
  begin_release();
  begun->cancel();
  EXPECT_FALSE(keeper().idle());
  serve({kReleased});
  EXPECT_TRUE(keeper().idle());
  EXPECT_EQ(script.count("client:7"), 2);
  EXPECT_EQ(kept->times, 1);
}

TEST_F(PlainTaskTest, AClosingClientGivesTheGrantBack) {
  begin_acquire();
  serve();
  keeper().begin_close([] {});
  serve({kGranted, kReleased});
  EXPECT_EQ(verdict(), Verdict::kFailed);
  EXPECT_EQ(kept->last->why.code(), Code::kClosed);
  EXPECT_EQ(script.count("client:7"), 2);
}

TEST_F(PlainTaskTest, ClosedMeanwhileItFails) {
  begin_acquire();
  context->topology->close(Status::closed("closed"));
  EXPECT_EQ(verdict(), Verdict::kFailed);
  EXPECT_EQ(kept->last->why.code(), Code::kClosed);
  begin_acquire(kBob);
  EXPECT_EQ(verdict(), Verdict::kFailed) << "it is refused at once";
}

TEST_F(PlainTaskTest, AHoldThatIsGoneIsLostByItsRelease) {
  acquire();
  release(kAlice, kGranted);
  EXPECT_EQ(verdict(), Verdict::kGone);
  EXPECT_TRUE(keeper().lost(name, kAlice));
}

TEST_F(PlainTaskTest, AReleaseThatOthersHeardOfYieldsToThem) {
  acquire();
  release(kAlice, ":2\r\n");
  EXPECT_EQ(verdict(), Verdict::kGranted);
  const std::string channel = lock_recipe().channel(name, {}).bytes();
  EXPECT_GT(context->waits->holds_back(channel), script.clock.now());
  EXPECT_TRUE(keeper().idle());
}

TEST_F(PlainTaskTest, AnExchangeThatNeverBeganLeavesNothing) {
  begun = lock->acquire(context, {kAlice, kLease});
  begun->cancel();
  EXPECT_TRUE(keeper().idle());
  EXPECT_EQ(script.got, "");
}

}  // namespace
}  // namespace holdfast::sync
