#include "redis/net/event_loop.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "redis/net/scripted.h"

namespace holdfast::net {
namespace {

TEST(EventLoop, StepsOnItsOwnThread) {
  EventLoop loop(kClock, "test");
  std::promise<std::thread::id> stepped;
  loop.drive(scripted([&](TimePoint, int) {
    EXPECT_TRUE(loop.on_loop_thread());
    stepped.set_value(std::this_thread::get_id());
    return done();
  }));
  EXPECT_NE(stepped.get_future().get(), std::this_thread::get_id());
  EXPECT_FALSE(loop.on_loop_thread());
}

TEST(EventLoop, ThreadBlocksSignalsAndHasAName) {
  EventLoop loop(kClock, "holdfast-test");
  std::promise<void> seen;
  loop.post([&] {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    EXPECT_EQ(sigismember(&blocked, SIGINT), 1);
    EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
    char name[32] = {};
    pthread_getname_np(pthread_self(), name, sizeof name);
    EXPECT_STREQ(name, "holdfast-test");
    seen.set_value();
  });
  seen.get_future().wait();
}

TEST(EventLoop, StepsWhenTheDescriptorIsReady) {
  const SocketPair sockets;
  const auto reader = scripted([&](TimePoint, int) {
    while (sockets.receive()) continue;
    return readable(sockets.near.get());
  });
  EventLoop loop(kClock, "test");
  loop.drive(reader);
  ASSERT_TRUE(reaches(*reader, 1));
  for (int i = 2; i < 100; ++i) {
    settle(loop);
    ASSERT_EQ(reader->steps(), i - 1) << "nothing was ready";
    sockets.send();
    ASSERT_TRUE(reaches(*reader, i));
  }
}

TEST(EventLoop, StepsWhenTheDescriptorTakesMore) {
  const SocketPair sockets;
  const auto writer = scripted([&](TimePoint, int step) {
    Interest interest;
    interest.fd = sockets.near.get();
    interest.write = true;
    return step < 3 ? interest : done();
  });
  EventLoop loop(kClock, "test");
  loop.drive(writer);
  EXPECT_TRUE(reaches(*writer, 3));
}

TEST(EventLoop, StepsWhenTheMomentHasComeAndNotBefore) {
  EventLoop loop(kClock, "test");
  TimePoint moment{};
  int early = 0;
  const auto timed = scripted([&](TimePoint now, int) {
    if (now < moment) ++early;
    moment = kClock.now() + Millis(2);
    return until(moment);
  });
  loop.drive(timed);
  ASSERT_TRUE(reaches(*timed, 20));
  loop.stop();
  EXPECT_EQ(early, 0);
}

TEST(EventLoop, AnEarlierMomentCountsThoughALaterOneWasSet) {
  EventLoop loop(kClock, "test");
  const auto waiting =
      scripted([](TimePoint now, int) { return until(now + std::chrono::hours(1)); });
  loop.drive(waiting);
  ASSERT_TRUE(reaches(*waiting, 1));
  const auto hasty = scripted([](TimePoint now, int) { return until(now + Millis(3)); });
  loop.drive(hasty);
  EXPECT_TRUE(reaches(*hasty, 3));
  EXPECT_EQ(waiting->steps(), 1);
}

TEST(EventLoop, AMomentMayBeBroughtForward) {
  EventLoop loop(kClock, "test");
  const auto pollable = scripted([](TimePoint now, int step) {
    return until(now + (step == 1 ? Duration(std::chrono::hours(1)) : Duration(Millis(2))));
  });
  loop.drive(pollable);
  ASSERT_TRUE(reaches(*pollable, 1));
  loop.drive(pollable);
  EXPECT_TRUE(reaches(*pollable, 3));
}

TEST(EventLoop, ALoopThatSleepsIsNotWokenBeforeTheMomentThatItIsGiven) {
  EventLoop loop(kClock, "test");
  const auto timed = scripted([](TimePoint, int) { return Interest(); });
  loop.drive(timed);
  ASSERT_TRUE(reaches(*timed, 1));
  settle(loop);
  // Where the thread is about to sleep only, the step comes at once.
  int in_time = 0;
  for (int round = 1; round <= 20; ++round) {
    const TimePoint moment = kClock.now() + Millis(10);
    std::atomic<bool> early{false};
    const auto later = scripted([&](TimePoint now, int) {
      early = now < moment;
      return Interest();
    });
    loop.drive_at(later, moment);
    ASSERT_TRUE(reaches(*later, 1));
    in_time += early ? 0 : 1;
  }
  loop.stop();
  EXPECT_GT(in_time, 0);
  EXPECT_EQ(timed->steps(), 1);
}

TEST(EventLoop, AMomentThatHasPassedIsNow) {
  EventLoop loop(kClock, "test");
  const auto pollable = scripted([](TimePoint, int) { return Interest(); });
  loop.drive_at(pollable, kClock.now());
  ASSERT_TRUE(reaches(*pollable, 1));
  settle(loop);
  loop.drive_at(pollable, kClock.now());
  EXPECT_TRUE(reaches(*pollable, 2));
}

TEST(EventLoop, AMomentGivenFromOutsideDoesNotPutOffAnEarlierOne) {
  EventLoop loop(kClock, "test");
  const auto hasty = scripted([](TimePoint now, int) { return until(now + Millis(3)); });
  const auto waiting = scripted([](TimePoint, int) { return Interest(); });
  loop.drive(hasty);
  ASSERT_TRUE(reaches(*hasty, 1));
  loop.drive_at(waiting, kClock.now() + std::chrono::hours(1));
  EXPECT_TRUE(reaches(*hasty, 3));
}

TEST(EventLoop, AMomentMayBeTakenBack) {
  EventLoop loop(kClock, "test");
  const TimePoint moment = kClock.now() + Millis(30);
  const auto pollable =
      scripted([moment](TimePoint, int step) { return step == 1 ? until(moment) : Interest(); });
  loop.drive(pollable);
  ASSERT_TRUE(reaches(*pollable, 1));
  loop.drive(pollable);
  ASSERT_TRUE(reaches(*pollable, 2));
  const auto later = scripted([moment](TimePoint, int) { return until(moment + Millis(5)); });
  loop.drive(later);
  ASSERT_TRUE(reaches(*later, 2));
  EXPECT_EQ(pollable->steps(), 2);
}

TEST(EventLoop, StepsOnceMoreWhenDrivenDuringAStep) {
  EventLoop loop(kClock, "test");
  std::promise<void> inside;
  std::promise<void> go_on;
  const auto pollable = scripted([&](TimePoint, int step) {
    if (step == 1) {
      inside.set_value();
      go_on.get_future().wait();
    }
    return done();  // the hand-over comes just before the loop sees this
  });
  loop.drive(pollable);
  inside.get_future().wait();
  loop.drive(pollable);
  go_on.set_value();
  EXPECT_TRUE(reaches(*pollable, 2));
}

TEST(EventLoop, StepsOnceMoreWhenDrivenFromItsOwnStep) {
  EventLoop loop(kClock, "test");
  std::weak_ptr<Scripted> self;
  const auto pollable = scripted([&](TimePoint, int step) {
    if (step < 5) loop.drive(self.lock());
    return done();
  });
  self = pollable;
  loop.drive(pollable);
  EXPECT_TRUE(reaches(*pollable, 5));
}

TEST(EventLoop, ABurstIsOneStep) {
  EventLoop loop(kClock, "test");
  const auto pollable = scripted([](TimePoint, int) { return Interest(); });
  std::promise<void> burst_is_over;
  loop.post([&] { burst_is_over.get_future().wait(); });
  for (int i = 0; i < 1000; ++i) loop.drive(pollable);
  burst_is_over.set_value();
  settle(loop);
  EXPECT_GE(pollable->steps(), 1);
  EXPECT_LE(pollable->steps(), 2);
}

// A queue that is done whenever it is empty: each push must be followed by a step.
class Mailbox final : public Pollable {
 public:
  void push() {
    const std::lock_guard lock(mutex_);
    ++waiting_;
  }
  Interest step(TimePoint) override {
    const std::lock_guard lock(mutex_);
    taken_ += std::exchange(waiting_, 0);
    return done();
  }
  bool emptied() const {
    const std::lock_guard lock(mutex_);
    return waiting_ == 0;
  }
  int taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

 private:
  mutable std::mutex mutex_;
  int waiting_ = 0;
  int taken_ = 0;
};

TEST(EventLoop, LosesNoHandOver) {
  EventLoop loop(kClock, "test");
  const auto mailbox = std::make_shared<Mailbox>();
  const auto produce = [&] {
    for (int i = 0; i < 5000; ++i) {
      mailbox->push();
      loop.drive(mailbox);
      // Often enough the loop falls asleep in between.
      ASSERT_TRUE(i % 10 != 0 || eventually([&] { return mailbox->emptied(); }));
    }
  };
  std::vector<std::thread> producers;
  for (int i = 0; i < 3; ++i) producers.emplace_back(produce);
  for (std::thread& producer : producers) producer.join();
  EXPECT_TRUE(eventually([&] { return mailbox->taken() == 15000; }));
}

TEST(EventLoop, GivesEachItsTurn) {
  EventLoop loop(kClock, "test");
  std::string turns;
  const auto greedy = [&turns](char name) {
    return scripted([&turns, name](TimePoint now, int) {
      turns += name;
      return until(now);
    });
  };
  const auto first = greedy('a');
  const auto second = greedy('b');
  loop.post([&] {
    loop.drive(first);
    loop.drive(second);
  });
  ASSERT_TRUE(reaches(*first, 500) && reaches(*second, 500));
  loop.stop();
  EXPECT_EQ(turns.find("aa"), std::string::npos);
  EXPECT_EQ(turns.find("bb"), std::string::npos);
}

TEST(EventLoop, TasksRunInOrderAndOnce) {
  EventLoop loop(kClock, "test");
  std::vector<int> order;
  loop.post([&] {
    for (int i = 0; i < 100; ++i) {
      loop.post([&loop, &order, i] {
        order.push_back(i);
        loop.post([&order, i] { order.push_back(100 + i); });
      });
    }
  });
  settle(loop);
  std::vector<int> expected(200);
  for (int i = 0; i < 200; ++i) expected[static_cast<std::size_t>(i)] = i;
  loop.stop();
  EXPECT_EQ(order, expected);
}

}  // namespace
}  // namespace holdfast::net
