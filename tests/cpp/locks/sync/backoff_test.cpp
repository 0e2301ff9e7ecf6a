// Waiting by back-off: how long they are, what the machine makes of them, and that nothing is sent
// but attempts.

#include "locks/sync/recipes/backoff.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "locks/sync/acquire_machine_fixture.h"
#include "locks/sync/recipes/kinds.h"
#include "support/calls.h"
#include "support/client.h"
#include "support/server.h"
#include "support/world.h"

namespace holdfast::sync {
namespace {

constexpr Backoff kHour{Millis(3600000), Millis(3600000), 1};

std::vector<Duration> backoff(const Backoff& backoff, std::uint64_t seed, int many) {
  BackoffSequence drawn(backoff, seed);
  std::vector<Duration> all;
  for (int i = 0; i < many; ++i) all.push_back(drawn.next());
  return all;
}

// ---- the times

TEST(BackoffSequenceTest, EachIsBetweenTheLastBoundAndItsOwn) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Duration bound = Millis(1);
    for (const Duration time : backoff({}, seed, 12)) {
      EXPECT_GE(time, bound / 2);
      EXPECT_LE(time, bound);
      bound = std::min<Duration>(2 * bound, Millis(128));
    }
  }
}

TEST(BackoffSequenceTest, TheyUseAllOfTheirRange) {
  Duration shortest = Millis(1000);
  Duration longest{};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Duration time = backoff({}, seed, 8).back();
    shortest = std::min(shortest, time);
    longest = std::max(longest, time);
  }
  EXPECT_LT(shortest, Millis(67));
  EXPECT_GT(longest, Millis(125));
}

TEST(BackoffSequenceTest, ASeedGivesTheSameTimesAndAnotherGivesOthers) {
  EXPECT_EQ(backoff({}, 1, 20), backoff({}, 1, 20));
  EXPECT_NE(backoff({}, 1, 20), backoff({}, 2, 20));
}

TEST(BackoffSequenceTest, AMultiplierOfOneIsAConstant) {
  for (const Duration time : backoff({Millis(50), Millis(50), 1}, 7, 5))
    EXPECT_EQ(time, Millis(50));
}

TEST(BackoffSequenceTest, TheyAreNeverZeroAndNeverAboveTheMaximum) {
  for (const Duration time : backoff({Millis(1), Millis(2), 1000}, 3, 50)) {
    EXPECT_GT(time, Duration::zero());
    EXPECT_LE(time, Millis(2));
  }
  const Millis longest(std::int64_t{1} << 40);
  for (const Duration time : backoff({Millis(1), longest, 1000}, 3, 50)) EXPECT_LE(time, longest);
}

// ---- the machine

class BackingOffTest : public AcquireMachineTest {
 protected:
  void begin(const Backoff& backoff, TimePoint deadline = kNever) {
    AcquireMachine::Options options;
    options.deadline = deadline;
    options.backoff = BackoffSequence(backoff, 1);
    AcquireMachineTest::begin(options);
    EXPECT_EQ(start(), "try");
  }
  // A refusal: how long it backs off.
  Duration rest(int ttl) {
    held(ttl);
    return last().until - at(now);
  }
};

TEST_F(BackingOffTest, ARefusalIsFollowedByABackoffAndAnAttempt) {
  begin({Millis(50), Millis(50), 1});
  EXPECT_EQ(held(9000), "join until 50");
  now = 49;
  EXPECT_EQ(time(), "sleep until 50");
  now = 50;
  EXPECT_EQ(time(), "try");
  EXPECT_EQ(held(8950), "sleep until 100");
}

TEST_F(BackingOffTest, ThePausesGrow) {
  begin({Millis(1), Millis(128), 2});
  EXPECT_LE(rest(9000), Millis(1));
  for (int i = 0; i < 10; ++i) {
    now = static_cast<int>(std::chrono::ceil<Millis>(last().until - kZero).count());
    EXPECT_EQ(time().substr(0, 3), "try");
    held(9000);
  }
  EXPECT_GE(last().until - at(now), Millis(64));
}

TEST_F(BackingOffTest, ARestIsNoLongerThanTheHoldersTime) {
  begin(kHour);
  EXPECT_EQ(held(500), "join until 502");
}

TEST_F(BackingOffTest, ARestIsNoLongerThanTheCallersTime) {
  begin(kHour, at(300));
  EXPECT_EQ(held(500), "join until 300");
  now = 300;
  EXPECT_EQ(time(), "timed out");
}

TEST_F(BackingOffTest, ARestIsNeverZero) {
  begin({});
  EXPECT_GT(rest(0), Duration::zero());
}

TEST_F(BackingOffTest, AKeyWithoutATimeLimitIsAskedForAfterTheRest) {
  begin({Millis(50), Millis(50), 1});
  EXPECT_EQ(held(-1), "join until 50");
}

TEST_F(BackingOffTest, AFailureEndsARest) {
  begin(kHour);
  EXPECT_EQ(held(9000), "join until 9002");
  EXPECT_EQ(failed(true), "failed: no server");
}

// ---- the operation, against a simulated server

class Outcomes final : public Completion {
 public:
  void done(std::uint64_t /*id*/, Outcome outcome) override { verdicts.push_back(outcome.verdict); }
  std::vector<Verdict> verdicts;
};

class SpinningTest : public ::testing::Test {
 protected:
  SpinningTest() {
    network_.weather.slow_per_mille = 0;
    held_by_another(Millis(60000));
  }
  ~SpinningTest() override {
    client_->close();
    loop_.run(Millis(10));
    loop_.stop();
  }

  void held_by_another(Millis lease) {
    std::string bytes;
    script::Writer writer(bytes, true, "publish");
    spin_lock_recipe().steps.acquire.write(writer, {name_, "another:1", 1, lease});
    execute(bytes);
  }
  void released_by_the_other() {
    std::string bytes;
    script::Writer writer(bytes, true, "publish");
    spin_lock_recipe().release(writer, {name_, "another:1", 0, Millis(0)});
    execute(bytes);
  }
  void wait(std::uint64_t owner, const Backoff& backoff) {
    AcquireOptions options;
    options.backoff = backoff;
    const auto lock = simulation::synchronizer(spin_lock_recipe(), name_, options);
    const AcquireArguments arguments{OwnerNumber{owner}, {Millis(60000), false}};
    simulation::acquire_call(client_->context(), {lock, arguments})->finish_to(outcomes_, owner);
  }
  int attempts_in(Duration time) {
    const int before = server_.runs("lock/acquire");
    loop_.run(time);
    return server_.runs("lock/acquire") - before;
  }
  const std::vector<Verdict>& verdicts() const { return outcomes_->verdicts; }

  const LockName name_{"lock"};
  simulation::World world_{1};
  simulation::Server server_{world_, 0};
  simulation::Network network_{world_, server_};
  simulation::SteppedLoop loop_{world_, network_};
  const std::shared_ptr<simulation::Client> client_ = simulation::Client::make(
      world_, network_, loop_, {"client", Millis(60000), Millis(1000), 10});

 private:
  void execute(const std::string& bytes) {
    simulation::CommandParser parser;
    std::vector<simulation::Command> commands;
    parser.feed(bytes, commands);
    server_.execute(commands.at(0));
  }

  const std::shared_ptr<Outcomes> outcomes_ = std::make_shared<Outcomes>();
};

TEST_F(SpinningTest, EachWaiterAsksAsOftenAsItsBackOffSays) {
  wait(1, {Millis(100), Millis(100), 1});
  (void)attempts_in(Millis(1000));
  EXPECT_GE(attempts_in(Millis(10000)), 90);
  wait(2, {Millis(100), Millis(100), 1});
  const int of_two = attempts_in(Millis(10000));
  EXPECT_GE(of_two, 180);
  EXPECT_LE(of_two, 201);
}

TEST_F(SpinningTest, TheDefaultSettlesAtTenASecond) {
  wait(1, {});
  (void)attempts_in(Millis(1000));
  const int attempts = attempts_in(Millis(10000));
  EXPECT_GE(attempts, 10000 / 130);
  EXPECT_LE(attempts, 10000 / 64 + 1);
}

TEST_F(SpinningTest, AFreedLockIsTakenByTheNextAttempt) {
  wait(1, {});
  wait(2, {});
  (void)attempts_in(Millis(1000));
  released_by_the_other();
  EXPECT_LE(attempts_in(Millis(130)), 6);
  EXPECT_EQ(verdicts(), std::vector<Verdict>{Verdict::kGranted});
}

TEST_F(SpinningTest, TheEndOfTheClientEndsARest) {
  wait(1, kHour);
  wait(2, kHour);
  loop_.run(Millis(100));
  EXPECT_EQ(verdicts().size(), 0U);
  client_->close();
  loop_.run(Millis(10));
  EXPECT_EQ(verdicts(), (std::vector<Verdict>{Verdict::kFailed, Verdict::kFailed}));
}

}  // namespace
}  // namespace holdfast::sync
