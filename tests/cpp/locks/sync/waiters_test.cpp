// What a crowd of waiters costs the server: of each client, and whatever happens, only one of them
// tries.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "locks/sync/operation/hold_release.h"
#include "locks/sync/recipes/keys.h"
#include "locks/sync/recipes/kinds.h"
#include "locks/sync/recipes/permit_semaphore.h"
#include "redis/resp/command.h"
#include "support/calls.h"
#include "support/client.h"
#include "support/server.h"
#include "support/world.h"

namespace holdfast::sync {
namespace {

constexpr int kCrowd = 20;
constexpr Millis kLease{60000};

class Outcomes final : public Completion {
 public:
  void done(std::uint64_t id, Outcome outcome) override {
    if (outcome.verdict == Verdict::kGranted) granted.push_back(id);
  }
  std::vector<std::uint64_t> granted;
};

class WaitersTest : public ::testing::Test {
 protected:
  WaitersTest() { network_.weather.slow_per_mille = 0; }
  ~WaitersTest() override {
    client_->close();
    loop_.run(Millis(10));
    loop_.stop();
  }

  void execute(const std::string& bytes) {
    simulation::CommandParser parser;
    std::vector<simulation::Command> commands;
    parser.feed(bytes, commands);
    server_.execute(commands.at(0));
  }
  void know_all_scripts() {
    for (const script::Script* script : lock_recipe().scripts()) {
      execute(resp::Command({"SCRIPT", "LOAD", script->text}).bytes());
    }
  }
  void held_by_another(Millis lease) {
    std::string bytes;
    script::Writer writer(bytes, true, "publish");
    lock_recipe().steps.acquire.write(writer, {name_, "another:1", 1, lease});
    execute(bytes);
  }
  void released_by_the_other() {
    std::string bytes;
    script::Writer writer(bytes, true, "publish");
    lock_recipe().release(writer, {name_, "another:1", 0, Millis(0)});
    execute(bytes);
  }
  void permits_are_out(int count, Millis lease) {
    std::string bytes;
    script::Writer writer(bytes, true, "publish");
    permit_steps().try_set_permits.write(writer,
                                         {name_, {}, 0, Millis(0), {Millis(0), Millis(0), count}});
    execute(bytes);
    for (int i = 1; i <= count; ++i) {
      const std::string taker = "another:" + std::to_string(i);
      std::string taking;
      script::Writer taker_writer(taking, true, "publish");
      permit_kind().leased.steps.acquire.write(taker_writer, {name_, taker, 1, lease});
      execute(taking);
    }
  }
  void a_permit_comes_back() {
    std::string bytes;
    script::Writer writer(bytes, true, "publish");
    permit_kind().leased.release(writer, {name_, "another:1", 0, Millis(0)});
    execute(bytes);
  }
  void wait(int first, int last, const Recipe& recipe = lock_recipe()) {
    for (int i = first; i <= last; ++i) {
      const auto number = static_cast<std::uint64_t>(i);
      const AcquireArguments arguments{OwnerNumber{number}, {kLease, false}};
      waiting_.push_back(simulation::acquire_call(
          client_->context(), {simulation::synchronizer(recipe, name_), arguments}));
      waiting_.back()->finish_to(outcomes_, number);
    }
  }
  const ExchangePtr& waiter(std::size_t number) const { return waiting_.at(number - 1); }
  wait::WaitRegistry& registry() const { return *client_->context()->waits; }
  void release(int owner) {
    const HoldRelease::Order what{OwnerNumber{static_cast<std::uint64_t>(owner)}};
    simulation::release_call(client_->context(), simulation::synchronizer(lock_recipe(), name_),
                             what)
        ->finish_to(std::make_shared<Outcomes>(), 0);
  }
  // How many attempts the server has seen in that time.
  int attempts_in(Duration time, const std::string& step = "lock/acquire") {
    const int before = server_.runs(step);
    loop_.run(time);
    return server_.runs(step) - before;
  }
  const std::vector<std::uint64_t>& granted() const { return outcomes_->granted; }

  const LockName name_{"lock"};

 private:
  simulation::World world_{1};
  simulation::Server server_{world_, 0};
  simulation::Network network_{world_, server_};
  simulation::SteppedLoop loop_{world_, network_};
  const std::shared_ptr<simulation::Client> client_ =
      simulation::Client::make(world_, network_, loop_, {"client", kLease, Millis(1000), 10});
  const std::shared_ptr<Outcomes> outcomes_ = std::make_shared<Outcomes>();
  std::vector<ExchangePtr> waiting_;
};

TEST_F(WaitersTest, TheFirstTriesBeforeAndAfterItsSubscriptionTheOthersNotAtAll) {
  held_by_another(kLease);
  wait(1, 1);
  EXPECT_EQ(attempts_in(Millis(50)), 2);
  wait(2, kCrowd);
  EXPECT_EQ(attempts_in(Millis(10000)), 0);
}

TEST_F(WaitersTest, AMessageCostsOneAttempt) {
  held_by_another(kLease);
  wait(1, kCrowd);
  (void)attempts_in(Millis(100));
  released_by_the_other();
  EXPECT_EQ(attempts_in(Millis(1000)), 1);
  EXPECT_EQ(granted().size(), 1U);
}

TEST_F(WaitersTest, AnExpiryCostsOneAttempt) {
  held_by_another(Millis(2000));
  wait(1, kCrowd);
  (void)attempts_in(Millis(100));
  EXPECT_EQ(attempts_in(Millis(5000)), 1);
  EXPECT_EQ(granted().size(), 1U);
}

TEST_F(WaitersTest, AHandOverCostsNone) {
  know_all_scripts();
  held_by_another(kLease);
  wait(1, kCrowd);
  (void)attempts_in(Millis(100));
  released_by_the_other();
  (void)attempts_in(Millis(100));
  ASSERT_EQ(granted().size(), 1U);
  release(static_cast<int>(granted().back()));
  EXPECT_EQ(attempts_in(Millis(1000)), 0);
  EXPECT_EQ(granted().size(), 2U);
}

// The waiter for a message or a turn is chosen under the registry's lock, and called without it.

TEST_F(WaitersTest, AMessageThatComesAfterAGrantIsForTheNext) {
  permits_are_out(2, kLease);
  wait(1, 2, permit_kind().leased);
  (void)attempts_in(Millis(100));
  wait::Calls late = registry().message(keys::kSemaphoreChannel.of(name_), "1");
  a_permit_comes_back();
  (void)attempts_in(Millis(100));
  ASSERT_EQ(granted(), (std::vector<std::uint64_t>{1}));
  late.run();
  EXPECT_EQ(attempts_in(Millis(1000), "permit_semaphore/acquire"), 1);
}

TEST_F(WaitersTest, ATurnThatComesTooLateIsForTheNext) {
  held_by_another(Millis(2000));
  wait(1, 3);
  (void)attempts_in(Millis(100));
  const std::string channel = lock_recipe().channel(name_, "");
  const wait::WaiterPtr first = registry().next_waiter(channel, TimePoint{});
  wait::Calls late = registry().leave(channel, *first, wait::LeaveReason::kGaveUp, kNever);
  waiter(1)->cancel();
  waiter(2)->cancel();
  late.run();
  (void)attempts_in(Millis(5000));
  EXPECT_EQ(granted(), (std::vector<std::uint64_t>{3}));
}

}  // namespace
}  // namespace holdfast::sync
