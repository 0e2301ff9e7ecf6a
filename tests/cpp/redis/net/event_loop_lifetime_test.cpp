#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "redis/net/event_loop.h"
#include "redis/net/scripted.h"

namespace holdfast::net {
namespace {

// How many threads of this process have that name.
int threads_named(const std::string& name) {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string comm;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, comm);
    count += comm == name ? 1 : 0;
  }
  return count;
}

TEST(EventLoopLifetime, LetsGoOfWhatIsDone) {
  EventLoop loop(kClock, "test");
  auto pollable = scripted([](TimePoint, int) { return done(); });
  const std::weak_ptr<Scripted> watched = pollable;
  loop.drive(std::move(pollable));
  EXPECT_TRUE(eventually([&] { return watched.expired(); }));
}

TEST(EventLoopLifetime, SharesOwnershipWhileItDrives) {
  EventLoop loop(kClock, "test");
  auto pollable = scripted([](TimePoint, int) { return Interest(); });
  const std::weak_ptr<Scripted> watched = pollable;
  loop.drive(std::move(pollable));
  settle(loop);
  EXPECT_FALSE(watched.expired());
  loop.stop();
  EXPECT_TRUE(watched.expired());
}

TEST(EventLoopLifetime, StoppedItDoesNothingMore) {
  EventLoop loop(kClock, "test");
  loop.stop();
  loop.stop();
  const auto pollable = scripted([](TimePoint, int) { return done(); });
  loop.drive(pollable);
  loop.post([] { FAIL(); });
  EXPECT_EQ(pollable.use_count(), 1);
  EXPECT_EQ(pollable->steps(), 0);
}

TEST(EventLoopLifetime, MayBeStoppedFromItsOwnThread) {
  std::optional<EventLoop> loop;
  loop.emplace(kClock, "test");
  const auto pollable = scripted([&](TimePoint, int) {
    loop->stop();
    return Interest();
  });
  loop->drive(pollable);
  EXPECT_TRUE(eventually([&] { return pollable.use_count() == 1; }));
  loop.reset();
}

TEST(EventLoopLifetime, MayBeDestroyedOnItsOwnThread) {
  auto loop = std::make_unique<EventLoop>(kClock, "test");
  EventLoop* const raw = loop.get();
  std::promise<void> destroyed;
  raw->post([loop = std::make_shared<std::unique_ptr<EventLoop>>(std::move(loop)), &destroyed] {
    loop->reset();
    destroyed.set_value();
  });
  destroyed.get_future().wait();
}

TEST(EventLoopLifetime, MayBeStoppedByManyAtOnce) {
  for (int round = 0; round < 50; ++round) {
    EventLoop loop(kClock, "test");
    auto pollable = scripted([](TimePoint now, int) { return until(now); });
    const std::weak_ptr<Scripted> watched = pollable;
    loop.drive(std::move(pollable));
    const auto stop = [&] {
      loop.stop();
      EXPECT_TRUE(watched.expired());
    };
    std::thread other(stop);
    stop();
    other.join();
  }
}

TEST(EventLoopLifetime, APollableMayUseTheLoopWhileItIsLetGoOf) {
  EventLoop loop(kClock, "test");
  struct Clinging : Pollable {
    explicit Clinging(EventLoop& its_loop) : loop(its_loop) {}
    ~Clinging() override {
      loop.post([] {});
      loop.drive(nullptr);
    }
    Interest step(TimePoint) override { return {}; }
    EventLoop& loop;
  };
  loop.drive(std::make_shared<Clinging>(loop));
  settle(loop);
  loop.stop();
}

TEST(EventLoopLifetime, AskedToStayItStartsByOneCallAndDrivesWhatHasWaitedForIt) {
  EventLoop loop(kClock, "test-start");
  loop.stay(true);
  const auto pollable = scripted([](TimePoint, int) { return Interest(); });
  loop.drive(pollable);
  EXPECT_EQ(threads_named("test-start"), 0);
  EXPECT_TRUE(loop.start());
  EXPECT_FALSE(loop.start());
  EXPECT_TRUE(reaches(*pollable, 1));
}

TEST(EventLoopLifetime, ALoopThatWasNotStartedLetsGoOfWhatWaitsForIt) {
  EventLoop loop(kClock, "test-start");
  loop.stay(true);
  const auto last = scripted([](TimePoint, int) { return done(); });
  const auto other = scripted([](TimePoint, int) { return done(); });
  loop.drive(last);
  loop.drive(other);
  loop.step_last(last);
  EXPECT_EQ(last.use_count(), 1);
  EXPECT_EQ(other.use_count(), 2);
  loop.stay(false);
  EXPECT_EQ(other.use_count(), 1);
  EXPECT_EQ(threads_named("test-start"), 0);
  EXPECT_EQ(last->steps() + other->steps(), 0);
}

TEST(EventLoopLifetime, ItsThreadEndsWithWhatItDrivesUnlessItStays) {
  EventLoop loop(kClock, "test");
  std::atomic<bool> over{false};
  const auto pollable = scripted([&](TimePoint, int) { return over ? done() : Interest(); });
  loop.drive(pollable);
  ASSERT_TRUE(reaches(*pollable, 1));
  loop.stay(false);
  loop.await_end(kClock.now() + Millis(10));
  EXPECT_EQ(threads_named("test"), 1) << "it drives something";
  over = true;
  loop.drive(pollable);
  loop.await_end(kNever);
  EXPECT_EQ(threads_named("test"), 0);
  EXPECT_EQ(pollable.use_count(), 1);
}

TEST(EventLoopLifetime, AnotherThreadFollowsOneThatHasEnded) {
  EventLoop loop(kClock, "test");
  loop.stay(false);
  for (int turn = 1; turn <= 20; ++turn) {
    const auto pollable = scripted([](TimePoint, int) { return done(); });
    loop.drive(pollable);
    EXPECT_TRUE(reaches(*pollable, 1));
    if (turn % 2 == 0) loop.await_end(kNever);
  }
  loop.stay(true);
  EXPECT_TRUE(loop.start());
  settle(loop);
  EXPECT_EQ(threads_named("test"), 1);
  loop.stay(false);
  loop.await_end(kNever);
  EXPECT_EQ(threads_named("test"), 0);
}

// Each call meets the thread at another moment of its end.
TEST(EventLoopLifetime, NothingThatIsDrivenWhileTheThreadEndsIsForgotten) {
  EventLoop loop(kClock, "test");
  loop.stay(false);
  std::atomic<int> run{0};
  for (int turn = 1; turn <= 5000 && !HasFailure(); ++turn) {
    loop.post([&run] { ++run; });
    if (turn % 7 != 0) continue;
    EXPECT_TRUE(eventually([&] { return run == turn; }));
  }
}

// Again and again, so that some children inherit the loop's lock in the hands of a thread that they
// do not have.
TEST(EventLoopLifetime, AChildOfForkMayDestroyItsCopy) {
  auto loop = std::make_unique<EventLoop>(kClock, "test");
  const auto pollable = scripted([](TimePoint, int) { return Interest(); });
  std::atomic<bool> enough{false};
  std::thread user([&] {
    while (!enough) loop->drive(pollable);
  });
  ASSERT_TRUE(reaches(*pollable, 1));
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      loop.reset();
      _exit(0);
    }
    int status = -1;
    EXPECT_TRUE(eventually([&] { return waitpid(child, &status, WNOHANG) == child; }));
    EXPECT_EQ(status, 0);
    if (status != 0) kill(child, SIGKILL);
  }
  enough = true;
  user.join();
  const int before = pollable->steps();
  loop->drive(pollable);
  EXPECT_TRUE(reaches(*pollable, before + 1)) << "the parent's loop goes on";
}

}  // namespace
}  // namespace holdfast::net
