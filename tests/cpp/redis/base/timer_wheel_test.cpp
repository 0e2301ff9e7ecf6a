#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "redis/base/clock.h"

namespace holdfast {
namespace {

constexpr Duration kMs = Millis(1);
const TimePoint kStart = TimePoint(std::chrono::hours(5)) + std::chrono::microseconds(7);

std::vector<Timer*> all_due(TimerWheel& wheel, TimePoint now) {
  std::vector<Timer*> due;
  while (Timer* const timer = wheel.pop_due(now)) due.push_back(timer);
  return due;
}

TEST(TimerWheel, PopsNothingWhenEmpty) {
  TimerWheel wheel(kStart);
  EXPECT_EQ(wheel.pop_due(kNever), nullptr);
  EXPECT_EQ(wheel.next(), kNever);
  EXPECT_EQ(wheel.size(), 0U);
}

TEST(TimerWheel, PopsATimerAtItsMomentAndNotBefore) {
  TimerWheel wheel(kStart);
  Timer timer;
  wheel.arm(timer, kStart + 10 * kMs);
  EXPECT_EQ(wheel.pop_due(kStart + 10 * kMs - Duration(1)), nullptr);
  EXPECT_TRUE(timer.armed());
  EXPECT_EQ(wheel.pop_due(kStart + 10 * kMs), &timer);
  EXPECT_FALSE(timer.armed());
}

TEST(TimerWheel, RoundsUpToTheTick) {
  TimerWheel wheel(kStart);
  Timer timer;
  wheel.arm(timer, kStart + 10 * kMs + Duration(1));
  EXPECT_EQ(wheel.next(), kStart + 11 * kMs);
  EXPECT_EQ(wheel.pop_due(kStart + 11 * kMs - Duration(1)), nullptr);
  EXPECT_EQ(wheel.pop_due(kStart + 11 * kMs), &timer);
}

TEST(TimerWheel, APastTimerIsDueAtOnce) {
  TimerWheel wheel(kStart);
  Timer early;
  Timer late;
  wheel.arm(early, TimePoint{});
  EXPECT_EQ(wheel.pop_due(kStart), &early);
  ASSERT_EQ(wheel.pop_due(kStart + 900 * kMs), nullptr);
  wheel.arm(late, kStart + 100 * kMs);
  EXPECT_LE(wheel.next(), kStart + 900 * kMs);
  EXPECT_EQ(wheel.pop_due(kStart + 900 * kMs), &late);
}

TEST(TimerWheel, ArmingAgainMoves) {
  TimerWheel wheel(kStart);
  Timer timer;
  wheel.arm(timer, kStart + 5 * kMs);
  wheel.arm(timer, kStart + 70000 * kMs);
  EXPECT_EQ(wheel.size(), 1U);
  EXPECT_EQ(wheel.pop_due(kStart + 60000 * kMs), nullptr);
  EXPECT_EQ(wheel.pop_due(kStart + 70000 * kMs), &timer);
}

TEST(TimerWheel, ATimerMayMoveToAnotherWheel) {
  TimerWheel first(kStart);
  TimerWheel second(kStart);
  Timer timer;
  first.arm(timer, kStart + kMs);
  second.arm(timer, kStart + 2 * kMs);
  EXPECT_EQ(first.size(), 0U);
  EXPECT_EQ(first.pop_due(kStart + kMs), nullptr);
  EXPECT_EQ(second.pop_due(kStart + 2 * kMs), &timer);
}

TEST(TimerWheel, TimersOfOneTickComeInTheOrderTheyWereArmed) {
  TimerWheel wheel(kStart);
  std::deque<Timer> timers(20);
  std::vector<Timer*> order;
  for (Timer& timer : timers) {
    wheel.arm(timer, kStart + 40000 * kMs);
    order.push_back(&timer);
  }
  EXPECT_EQ(all_due(wheel, kStart + 40000 * kMs), order);
}

TEST(TimerWheel, ATimerLeavesWhenItDies) {
  TimerWheel wheel(kStart);
  Timer stays;
  wheel.arm(stays, kStart + 3 * kMs);
  {
    Timer dies;
    wheel.arm(dies, kStart + 3 * kMs);
    EXPECT_EQ(wheel.size(), 2U);
  }
  EXPECT_EQ(all_due(wheel, kStart + 3 * kMs), std::vector<Timer*>{&stays});
}

TEST(TimerWheel, ADyingWheelDisarms) {
  std::deque<Timer> timers(50);
  {
    TimerWheel wheel(kStart);
    for (std::size_t i = 0; i < timers.size(); ++i) {
      wheel.arm(timers[i], kStart + (i % 3) * 1000 * kMs);
    }
  }
  EXPECT_TRUE(std::none_of(timers.begin(), timers.end(), [](Timer& t) { return t.armed(); }));
}

TEST(TimerWheel, ATimerForNeverIsArmedAndNeverDue) {
  TimerWheel wheel(kStart);
  Timer timer;
  wheel.arm(timer, kNever);
  EXPECT_GT(wheel.next(), kStart);
  EXPECT_EQ(wheel.pop_due(kStart + std::chrono::hours(24 * 365 * 100)), nullptr);
  EXPECT_TRUE(timer.armed());
}

TEST(TimerWheel, ADistantTimerCostsASleeperFewWakeUps) {
  TimerWheel wheel(kStart);
  Timer timer;
  const TimePoint at = kStart + std::chrono::hours(24 * 30);
  wheel.arm(timer, at);
  int wake_ups = 0;
  for (TimePoint now = kStart; timer.armed(); ++wake_ups) {
    ASSERT_GT(wheel.next(), now);
    now = wheel.next();
    ASSERT_LE(now, at);
    wheel.pop_due(now);
  }
  EXPECT_LE(wake_ups, 7);
}

// The same in the plainest way: what is armed, by the tick it is due at.
class Model {
 public:
  using Tick = Duration::rep;

  static Tick due_tick(TimePoint at, TimePoint now) {
    const auto ceil = [](TimePoint t) {
      return (t - kStart) / kMs + ((t - kStart) % kMs > Duration::zero() ? 1 : 0);
    };
    return std::max(at <= kStart ? 0 : ceil(at), (now - kStart) / kMs);
  }

  void arm(Timer* timer, TimePoint at, TimePoint now) {
    disarm(timer);
    due_[timer] = due_tick(at, now);
    order_.emplace(due_[timer], timer);
  }

  void disarm(Timer* timer) {
    const auto found = due_.find(timer);
    if (found == due_.end()) return;
    const auto range = order_.equal_range(found->second);
    order_.erase(std::find_if(range.first, range.second,
                              [timer](const auto& entry) { return entry.second == timer; }));
    due_.erase(found);
  }

  std::size_t size() const { return due_.size(); }
  Tick first() const { return order_.begin()->first; }
  bool has(Timer* timer) const { return due_.count(timer) != 0; }
  Tick of(Timer* timer) const { return due_.at(timer); }

 private:
  std::map<Timer*, Tick> due_;
  std::multimap<Tick, Timer*> order_;
};

// Random operations on a wheel and the model at once.
class Comparison {
 public:
  explicit Comparison(unsigned seed) : random_(seed) {}

  void step() {
    switch (draw(10)) {
      case 0:
        advance();
        break;
      case 1:
      case 2:
        disarm(timers_[draw(timers_.size())]);
        break;
      default:
        arm(timers_[draw(timers_.size())]);
    }
    check_next();
  }

 private:
  std::size_t draw(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }

  // Nanoseconds, from less than a tick to years.
  Duration span(int bits) {
    const auto most = std::int64_t{1} << draw(static_cast<std::size_t>(bits));
    return Duration(std::uniform_int_distribution<std::int64_t>(0, most)(random_));
  }

  void arm(Timer& timer) {
    const std::size_t kind = draw(40);
    const TimePoint at = kind == 0   ? kNever
                         : kind == 1 ? now_ - span(40)
                                     : now_ + span(kind < 20 ? 32 : 56);
    wheel_.arm(timer, at);
    model_.arm(&timer, at, now_);
    EXPECT_TRUE(timer.armed());
    EXPECT_EQ(timer.at(), at);
  }

  void disarm(Timer& timer) {
    EXPECT_EQ(timer.armed(), model_.has(&timer));
    timer.disarm();
    model_.disarm(&timer);
  }

  void advance() {
    now_ += span(draw(20) == 0 ? 54 : 34);
    const auto here = (now_ - kStart) / kMs;
    Model::Tick last = 0;
    while (Timer* const timer = wheel_.pop_due(now_)) {
      ASSERT_TRUE(model_.has(timer));
      const Model::Tick tick = model_.of(timer);
      ASSERT_LE(tick, here) << "popped before its time";
      ASSERT_GE(tick, last) << "popped out of order";
      ASSERT_EQ(tick, model_.first());
      last = tick;
      model_.disarm(timer);
    }
    ASSERT_TRUE(model_.size() == 0 || model_.first() > here) << "one that is due was not popped";
  }

  void check_next() {
    ASSERT_EQ(wheel_.size(), model_.size());
    if (model_.size() == 0) {
      ASSERT_EQ(wheel_.next(), kNever);
      return;
    }
    const auto here = (now_ - kStart) / kMs;
    const auto next = (wheel_.next() - kStart) / kMs;
    ASSERT_LE(next, model_.first()) << "a sleeper would sleep past a timer";
    ASSERT_TRUE(next > here || next == model_.first()) << "a sleeper would not sleep";
    ASSERT_TRUE(next == model_.first() || model_.first() > here + 256) << "near ones are exact";
  }

  std::mt19937 random_;
  TimePoint now_ = kStart;
  std::deque<Timer> timers_{300};
  TimerWheel wheel_{kStart};
  Model model_;
};

TEST(TimerWheel, DoesWhatANaiveModelDoes) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Comparison comparison(seed);
    for (int i = 0; i < 10000; ++i) {
      comparison.step();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace holdfast
