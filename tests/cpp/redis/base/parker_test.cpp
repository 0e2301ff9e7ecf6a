#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "redis/base/mutex.h"
#include "support/manual_clock.h"

namespace holdfast {
namespace {

bool readable(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

// Whether a notification is pending; it is consumed.
bool notified(Parker& parker) {
  if (!parker.begin_poll()) return true;
  parker.end_poll();
  return false;
}

TEST(Parker, RemembersANotificationUntilItIsSeen) {
  const ManualClock clock;
  Parker parker;
  parker.notify();
  parker.notify();
  parker.park(clock, kNever);
  EXPECT_FALSE(notified(parker));
}

TEST(Parker, ReturnsWhenItsTimeHasCome) {
  const ManualClock clock;
  Parker parker;
  parker.park(clock, clock.now());
  EXPECT_FALSE(notified(parker));
  const SystemClock real;
  const TimePoint until = real.now() + Millis(2);
  parker.park(real, until);
  EXPECT_GE(real.now(), until);
}

TEST(Parker, ANotificationEndsItsPoll) {
  Parker parker;
  ASSERT_TRUE(parker.begin_poll());
  EXPECT_FALSE(readable(parker.wake_fd()));
  parker.notify();
  EXPECT_TRUE(readable(parker.wake_fd()));
  parker.end_poll();
  EXPECT_FALSE(readable(parker.wake_fd()));
  EXPECT_FALSE(notified(parker));
}

TEST(Parker, OutlivesItsThread) {
  Parker* parker = nullptr;
  std::thread([&parker] { parker = &Parker::of_this_thread(); }).join();
  parker->notify();
  std::thread([parker] { EXPECT_EQ(&Parker::of_this_thread(), parker); }).join();
}

TEST(Parker, ADescriptorIsKeptForTheNextPollUnlessNoneAreKept) {
  Parker parker;
  ASSERT_TRUE(parker.begin_poll());
  const int fd = parker.wake_fd();
  parker.end_poll();
  EXPECT_EQ(::fcntl(fd, F_GETFD), FD_CLOEXEC) << "the next poll uses it";
  ASSERT_TRUE(parker.begin_poll());
  EXPECT_EQ(parker.wake_fd(), fd);
  Parker::keep_descriptors(false);
  EXPECT_NE(::fcntl(fd, F_GETFD), -1) << "it is in use";
  parker.end_poll();
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
  Parker::keep_descriptors(true);
}

// Each wakes the other, by turns asleep and polling; a missed notification would hang both.
TEST(Parker, MissesNoNotification) {
  constexpr int kTurns = 20000;
  const SystemClock clock;
  std::array<Parker, 2> parkers;
  std::array<std::atomic<int>, 2> turns{};
  const auto play = [&](std::size_t me) {
    for (int turn = 1; turn <= kTurns; ++turn) {
      turns[me].store(turn);
      parkers[1 - me].notify();
      while (turns[1 - me].load() < turn) {
        if (turn % 2 == 0) {
          parkers[me].park(clock, kNever);
        } else if (parkers[me].begin_poll()) {
          pollfd watched{parkers[me].wake_fd(), POLLIN, 0};
          ::poll(&watched, 1, -1);
          parkers[me].end_poll();
        }
      }
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
}

TEST(WakeBatch, NotifiesAtTheEndOfTheOutermostScope) {
  std::array<Parker, 12> parkers;
  {
    const WakeBatch outer;
    {
      const WakeBatch inner;
      for (Parker& parker : parkers) WakeBatch::notify(parker);
    }
    for (Parker& parker : parkers) EXPECT_FALSE(notified(parker));
  }
  for (Parker& parker : parkers) EXPECT_TRUE(notified(parker));
}

// The threads sleep in turns with the waker, on two words at least; one that is not woken hangs.
TEST(WakeBatch, WakesEveryOneOfManySleepers) {
  constexpr std::size_t kSleepers = 40;
  constexpr int kTurns = 200;
  const SystemClock clock;
  std::array<Parker, kSleepers> parkers;
  Parker own;
  std::atomic<int> turn{0};
  std::atomic<std::size_t> there{0};
  const auto sleep = [&](Parker& parker) {
    for (int mine = 1; mine <= kTurns; ++mine) {
      while (turn.load() < mine) parker.park(clock, kNever);
      if (there.fetch_add(1) + 1 == kSleepers) own.notify();
    }
  };
  std::vector<std::thread> threads;
  for (Parker& parker : parkers) threads.emplace_back([&] { sleep(parker); });
  for (int i = 0; i < kTurns; ++i) {
    turn.fetch_add(1);
    {
      const WakeBatch wakes;
      for (Parker& parker : parkers) WakeBatch::notify(parker);
    }
    while (there.load() < kSleepers) own.park(clock, kNever);
    there.store(0);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(WakeBatch, WithoutAScopeNotifiesAtOnce) {
  Parker parker;
  WakeBatch::notify(parker);
  EXPECT_TRUE(notified(parker));
}

}  // namespace
}  // namespace holdfast
