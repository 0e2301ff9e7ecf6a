#include "net/event_loop.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <deque>
#include <future>
#include <mutex>
#include <optional>

#include "net/descriptor.h"
#include "net/support.h"

namespace holdfast::net {
namespace {

const SystemClock kClock;

Interest done() {
  Interest interest;
  interest.done = true;
  return interest;
}

Interest until(TimePoint when) {
  Interest interest;
  interest.until = when;
  return interest;
}

Interest readable(int fd) {
  Interest interest;
  interest.fd = fd;
  interest.read = true;
  return interest;
}

// A Pollable that does what it is told and counts its steps.
class Scripted final : public Pollable {
 public:
  using Script = std::function<Interest(TimePoint now, int step)>;
  explicit Scripted(Script script) : script_(std::move(script)) {}

  Interest step(TimePoint now) override {
    const Interest interest = script_(now, steps_ + 1);
    ++steps_;
    return interest;
  }

  int steps() const { return steps_; }

 private:
  const Script script_;
  std::atomic<int> steps_{0};
};

std::shared_ptr<Scripted> scripted(Scripted::Script script) {
  return std::make_shared<Scripted>(std::move(script));
}

bool reaches(const Scripted& pollable, int steps) {
  return eventually([&] { return pollable.steps() >= steps; });
}

// Returns when the loop has done all that was asked for before.
void settle(EventLoop& loop) {
  for (int i = 0; i < 3; ++i) {
    std::promise<void> reached;
    loop.post([&reached] { reached.set_value(); });
    reached.get_future().wait();
  }
}

struct SocketPair {
  SocketPair() {
    int fds[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0) {
      throw std::runtime_error("socketpair");
    }
    near = Descriptor(fds[0]);
    far = Descriptor(fds[1]);
  }
  void send() const { ASSERT_EQ(write(far.get(), "x", 1), 1); }
  bool receive() const {
    char byte = 0;
    return read(near.get(), &byte, 1) == 1;
  }

  Descriptor near;
  Descriptor far;
};

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
  const auto patient =
      scripted([](TimePoint now, int) { return until(now + std::chrono::hours(1)); });
  loop.drive(patient);
  ASSERT_TRUE(reaches(*patient, 1));
  const auto hasty = scripted([](TimePoint now, int) { return until(now + Millis(3)); });
  loop.drive(hasty);
  EXPECT_TRUE(reaches(*hasty, 3));
  EXPECT_EQ(patient->steps(), 1);
}

TEST(EventLoop, LetsGoOfWhatIsDone) {
  EventLoop loop(kClock, "test");
  auto pollable = scripted([](TimePoint, int) { return done(); });
  const std::weak_ptr<Scripted> watched = pollable;
  loop.drive(std::move(pollable));
  EXPECT_TRUE(eventually([&] { return watched.expired(); }));
}

TEST(EventLoop, SharesOwnershipWhileItDrives) {
  EventLoop loop(kClock, "test");
  auto pollable = scripted([](TimePoint, int) { return Interest(); });
  const std::weak_ptr<Scripted> watched = pollable;
  loop.drive(std::move(pollable));
  settle(loop);
  EXPECT_FALSE(watched.expired());
  loop.stop();
  EXPECT_TRUE(watched.expired());
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
    return done();  // the hand-over comes just before the loop hears this
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

TEST(EventLoop, AReopenedDescriptorOfTheSameNumberIsWatched) {
  auto sockets = std::make_unique<SocketPair>();
  int number = -1;
  const auto pollable = scripted([&](TimePoint, int step) {
    if (step == 2) {
      sockets.reset();
      sockets = std::make_unique<SocketPair>();
      EXPECT_EQ(sockets->near.get(), number);
    }
    number = sockets->near.get();
    while (sockets->receive()) continue;
    return readable(number);
  });
  EventLoop loop(kClock, "test");
  loop.drive(pollable);
  ASSERT_TRUE(reaches(*pollable, 1));
  loop.drive(pollable);
  ASSERT_TRUE(reaches(*pollable, 2));
  settle(loop);
  sockets->send();
  EXPECT_TRUE(reaches(*pollable, 3));
}

TEST(EventLoop, ANumberPassesFromOnePollableToAnother) {
  EventLoop loop(kClock, "test");
  auto sockets = std::make_unique<SocketPair>();
  const int number = sockets->near.get();
  const auto loser = scripted([&](TimePoint, int step) {
    if (step == 1) return readable(number);
    if (step == 2) sockets.reset();
    return step < 3 ? Interest() : done();
  });
  loop.drive(loser);
  ASSERT_TRUE(reaches(*loser, 1));
  loop.drive(loser);
  ASSERT_TRUE(reaches(*loser, 2));

  const SocketPair next;
  ASSERT_EQ(next.near.get(), number);
  const auto winner = scripted([&](TimePoint, int) {
    while (next.receive()) continue;
    return readable(next.near.get());
  });
  loop.drive(winner);
  ASSERT_TRUE(reaches(*winner, 1));
  loop.drive(loser);
  ASSERT_TRUE(reaches(*loser, 3));
  next.send();
  EXPECT_TRUE(reaches(*winner, 2));
}

TEST(EventLoop, KeepsSteppingAPollableWhoseDescriptorCannotBeWatched) {
  EventLoop loop(kClock, "test");
  const int closed = SocketPair().near.get();
  const auto pollable = scripted([&](TimePoint, int) { return readable(closed); });
  loop.drive(pollable);
  EXPECT_TRUE(reaches(*pollable, 3));
}

TEST(EventLoop, TasksRunInOrderAndOnce) {
  EventLoop loop(kClock, "test");
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    loop.post([&loop, &order, i] {
      order.push_back(i);
      loop.post([&order, i] { order.push_back(100 + i); });
    });
  }
  settle(loop);
  std::vector<int> expected(200);
  for (int i = 0; i < 200; ++i) expected[static_cast<std::size_t>(i)] = i;
  loop.stop();
  EXPECT_EQ(order, expected);
}

TEST(EventLoop, StoppedItDoesNothingMore) {
  EventLoop loop(kClock, "test");
  loop.stop();
  loop.stop();
  const auto pollable = scripted([](TimePoint, int) { return done(); });
  loop.drive(pollable);
  loop.post([] { FAIL(); });
  EXPECT_EQ(pollable.use_count(), 1);
  EXPECT_EQ(pollable->steps(), 0);
}

TEST(EventLoop, MayBeStoppedFromItsOwnThread) {
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

TEST(EventLoop, MayBeDestroyedOnItsOwnThread) {
  auto loop = std::make_unique<EventLoop>(kClock, "test");
  EventLoop* const raw = loop.get();
  std::promise<void> destroyed;
  raw->post([loop = std::make_shared<std::unique_ptr<EventLoop>>(std::move(loop)), &destroyed] {
    loop->reset();
    destroyed.set_value();
  });
  destroyed.get_future().wait();
}

TEST(EventLoop, MayBeStoppedByManyAtOnce) {
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

TEST(EventLoop, APollableMayUseTheLoopWhileItIsLetGoOf) {
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

TEST(EventLoop, AChildOfForkMayDestroyItsCopy) {
  auto loop = std::make_unique<EventLoop>(kClock, "test");
  const auto pollable = scripted([](TimePoint, int) { return Interest(); });
  loop->drive(pollable);
  ASSERT_TRUE(reaches(*pollable, 1));
  const pid_t child = fork();
  if (child == 0) {
    close_inherited_sockets();
    loop.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_TRUE(eventually([&] { return waitpid(child, &status, WNOHANG) == child; }));
  EXPECT_EQ(status, 0);
  loop->drive(pollable);
  EXPECT_TRUE(reaches(*pollable, 2)) << "the parent's loop goes on";
}

// A token goes round through sockets; each station often closes its socket and opens another.
class Station final : public Pollable {
 public:
  void connect_to(Station& next) { next_ = &next; }

  Interest step(TimePoint) override {
    char byte = 0;
    while (read(sockets_->near.get(), &byte, 1) == 1) {
      ++passed_;
      next_->sockets_->send();
    }
    if (++steps_ % 3 == 0 && !token_is_near()) sockets_ = std::make_unique<SocketPair>();
    return readable(sockets_->near.get());
  }

  void begin() const { sockets_->send(); }
  int passed() const { return passed_; }

 private:
  bool token_is_near() const {
    char byte = 0;
    return recv(sockets_->near.get(), &byte, 1, MSG_PEEK) == 1;
  }

  std::unique_ptr<SocketPair> sockets_ = std::make_unique<SocketPair>();
  Station* next_ = nullptr;
  std::atomic<int> passed_{0};
  int steps_ = 0;
};

TEST(EventLoop, ServesManyWhoseDescriptorsChange) {
  std::vector<std::shared_ptr<Station>> ring;
  for (int i = 0; i < 40; ++i) ring.push_back(std::make_shared<Station>());
  for (std::size_t i = 0; i < ring.size(); ++i) ring[i]->connect_to(*ring[(i + 1) % ring.size()]);
  ring[0]->begin();
  EventLoop loop(kClock, "test");
  for (const auto& station : ring) loop.drive(station);
  EXPECT_TRUE(eventually([&] { return ring[7]->passed() >= 200; }));
  loop.stop();
}

}  // namespace
}  // namespace holdfast::net
