#include "interleavings/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "redis/base/mutex.h"

namespace holdfast::interleavings {
namespace {

// What the kernel has, only.
class NoNetwork final : public Readiness {
 public:
  bool ready(const net::Interest& /*interest*/) const override { return false; }
};

class SchedulerTest : public ::testing::Test {
 protected:
  // Two threads run `body`, in the order of that seed.
  template <typename Body>
  void run(std::uint64_t seed, Body body) {
    World world(seed);
    Scheduler scheduler(world, network_, seed);
    scheduler.heading = "seed " + std::to_string(seed);
    scheduler.add("one", [&body] { body(0); });
    scheduler.add("other", [&body] { body(1); });
    scheduler.run();
  }

  const NoNetwork network_;
};

TEST_F(SchedulerTest, AnUpdateThatIsReadAndThenWrittenIsLostInSomeOrders) {
  int lost = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SharedAtomic<int> count{0};
    run(seed, [&count](int) { count.store(count.load() + 1); });
    lost += count.load() == 1 ? 1 : 0;
  }
  EXPECT_GT(lost, 3);
  EXPECT_LT(lost, 390);
}

TEST_F(SchedulerTest, UnderAMutexNoneIsLost) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Mutex mutex;
    SharedAtomic<int> count{0};
    run(seed, [&](int) {
      const MutexLock lock(mutex);
      count.store(count.load() + 1);
    });
    EXPECT_EQ(count.load(), 2) << seed;
  }
}

TEST_F(SchedulerTest, AConditionWakesWhoWaitsForIt) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Mutex mutex;
    Condition condition;
    bool there = false;
    run(seed, [&](int which) {
      const MutexLock lock(mutex);
      if (which == 0) {
        while (!there) condition.wait(mutex);
      } else {
        there = true;
        condition.notify_one();
      }
    });
  }
}

TEST_F(SchedulerTest, ADeadlockIsFoundAndItsSeedNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto lock_in_opposite_order = [this] {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      Mutex first;
      Mutex second;
      run(seed, [&](int which) {
        const MutexLock outer(which == 0 ? first : second);
        const MutexLock inner(which == 0 ? second : first);
      });
    }
  };
  EXPECT_EXIT(lock_in_opposite_order(), ::testing::ExitedWithCode(1),
              "seed [0-9]+\nno thread can go on");
}

}  // namespace
}  // namespace holdfast::interleavings
