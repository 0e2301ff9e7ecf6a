#include "locks/sync/operation/timers.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "support/manual_clock.h"

namespace holdfast::sync {
namespace {

class Notified final : public net::Loop {
 public:
  void drive(std::shared_ptr<net::Pollable>) override { ++at_once; }
  void drive_at(std::shared_ptr<net::Pollable>, TimePoint at) override { later.push_back(at); }

  int at_once = 0;
  std::vector<TimePoint> later;
};

class Bell final : public Timed {
 public:
  void on_time() override { ++rung; }
  int rung = 0;
};

class TimersTest : public ::testing::Test {
 protected:
  // A timer keeps what it is for until its time.
  ~TimersTest() override { timers->step(in(1000)); }

  TimePoint in(int milliseconds) const { return clock.now() + Millis(milliseconds); }

  ManualClock clock;
  Notified loop;
  const std::shared_ptr<Timers> timers = std::make_shared<Timers>(clock, loop);
  const std::shared_ptr<Bell> bell = std::make_shared<Bell>();
};

TEST_F(TimersTest, ATimerGivesTheLoopItsMomentWithoutWakingIt) {
  timers->arm(bell, in(50));
  EXPECT_EQ(loop.at_once, 0);
  EXPECT_EQ(loop.later, std::vector<TimePoint>{in(50)});
}

TEST_F(TimersTest, OnlyAnEarlierMomentIsGivenAgain) {
  const auto other = std::make_shared<Bell>();
  timers->arm(bell, in(50));
  timers->arm(other, in(80));
  timers->arm(other, in(20));
  EXPECT_EQ(loop.later, (std::vector<TimePoint>{in(50), in(20)}));
}

TEST_F(TimersTest, AStepRingsWhatIsDue) {
  timers->arm(bell, in(50));
  EXPECT_EQ(timers->step(clock.now()).until, in(50));
  clock.advance(Millis(50));
  EXPECT_TRUE(timers->step(clock.now()).done);
  EXPECT_EQ(bell->rung, 1);
}

TEST_F(TimersTest, WhatIsDisarmedDoesNotRing) {
  timers->arm(bell, in(50));
  timers->disarm(*bell);
  clock.advance(Millis(100));
  timers->step(clock.now());
  EXPECT_EQ(bell->rung, 0);
}

}  // namespace
}  // namespace holdfast::sync
