// Who reads a subscriber's stream, on a real server: threads that wait, and the loop.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "redis/client/subscriber.h"
#include "redis/net/event_loop.h"
#include "support/real_server.h"

namespace holdfast::client {
namespace {

constexpr std::chrono::seconds kLong{20};
constexpr int kEnough = 2000;  // messages

// Publishes, over a separate connection.
class Publisher {
 public:
  explicit Publisher(const net::RealServer& server) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(server.address().port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  }
  ~Publisher() { ::close(fd_); }
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  std::string ask(const std::string& command) const {
    const std::string line = command + "\r\n";
    EXPECT_EQ(::write(fd_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    std::array<char, 256> reply;
    const ssize_t size = ::read(fd_, reply.data(), reply.size());
    return {reply.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }
  void publish(const std::string& channel) const {
    EXPECT_EQ(ask("PUBLISH " + channel + " 0"), ":1\r\n");
  }

 private:
  const int fd_;
};

class Readers final : public Subscriber::Sink {
 public:
  void on_subscribed(const std::string& channel, TimePoint, bool fresh) override {
    if (fresh) note("on " + channel);
  }
  void on_message(const std::string& channel, std::string_view) override { note(channel); }
  void on_refused(const std::string&, const Status&) override {}
  void on_unreachable(const std::set<std::string>&, const Status&) override {}
  bool on_released(const std::string&) override { return true; }
  void on_lost() override { note("lost"); }
  bool has_waiters(std::size_t besides) const override { return waiters > besides; }

  // The thread that read what is noted as `what`; `look` is called until then.
  std::thread::id reader(
      const std::string& what, const std::function<void()>& look = [] {}) {
    for (const auto end = std::chrono::steady_clock::now() + kLong;;) {
      {
        const MutexLock lock(mutex_);
        const auto found = notes_.find(what);
        if (found != notes_.end()) {
          const std::thread::id thread = found->second;
          notes_.erase(found);
          return thread;
        }
      }
      if (std::chrono::steady_clock::now() > end) return {};
      look();
      std::this_thread::yield();
    }
  }

  std::atomic<std::size_t> waiters{2};

 private:
  void note(const std::string& what) {
    const MutexLock lock(mutex_);
    notes_.emplace(what, std::this_thread::get_id());
  }

  Mutex mutex_;
  std::multimap<std::string, std::thread::id> notes_;
};

// A thread that waits for a message of a channel.
class Waiter {
 public:
  Waiter(Subscriber& subscriber, std::string channel) : channel_(std::move(channel)) {
    control_.listens = true;
    std::promise<Parker*> begun;
    thread_ = std::thread([this, &subscriber, &begun] {
      begun.set_value(&Parker::of_this_thread());
      subscriber.wait_for_message({Parker::of_this_thread(), channel_, true, control_}, kNever);
    });
    parker_ = begun.get_future().get();
    id_ = thread_.get_id();
  }
  ~Waiter() {
    stop();
    join();
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  std::thread::id id() const { return id_; }
  void stop() {
    control_.listens = false;
    parker_->notify();
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  const std::string channel_;
  ServeControl control_;
  Parker* parker_ = nullptr;
  std::thread thread_;
  std::thread::id id_;
};

class AttendanceTest : public ::testing::Test {
 protected:
  AttendanceTest() {
    StreamOptions options;
    options.address = server.address();
    options.connect_timeout = options.command_timeout = Millis(3000);
    options.retries = 3;
    subscriber = std::make_shared<Subscriber>(clock, loop, options, readers);
    loop.post([this] { loop_id.set_value(std::this_thread::get_id()); });
    loops = loop_id.get_future().get();
    subscriber->subscribe("a");
    subscriber->subscribe("b");
    EXPECT_EQ(readers->reader("on a"), loops);
    EXPECT_EQ(readers->reader("on b"), loops);
  }
  ~AttendanceTest() override {
    subscriber->close();
    loop.stop();
  }

  // Until `thread` reads: the one before it may still take a message. `look` follows each of them.
  void await_reader(
      const std::string& channel, std::thread::id thread,
      const std::function<void()>& look = [] {}) {
    std::thread::id reader{};
    for (int messages = 0; reader != thread; ++messages) {
      ASSERT_LT(messages, kEnough) << "another thread reads all of them";
      publisher.publish(channel);
      reader = readers->reader(channel, look);
      ASSERT_NE(reader, std::thread::id{}) << "no thread reads";
    }
  }

  // A waiter that has what it waited for.
  void let_one_read(const std::string& channel) {
    const Waiter waiter(*subscriber, channel);
    await_reader(channel, waiter.id());
  }

  SystemClock clock;
  net::RealServer server;
  const Publisher publisher{server};
  const std::shared_ptr<Readers> readers = std::make_shared<Readers>();
  net::EventLoop loop{clock, "test"};
  std::promise<std::thread::id> loop_id;
  std::thread::id loops;
  std::shared_ptr<Subscriber> subscriber;
};

TEST_F(AttendanceTest, WithoutAWaitingThreadTheLoopReads) {
  publisher.publish("a");
  EXPECT_EQ(readers->reader("a"), loops);
}

TEST_F(AttendanceTest, AWaitingThreadReadsItsMessages) {
  Waiter waiter(*subscriber, "a");
  await_reader("a", waiter.id());
}

TEST_F(AttendanceTest, AfterTheLastWaitTheLoopReadsForOtherWaiters) {
  let_one_read("a");
  await_reader("a", loops);
}

TEST_F(AttendanceTest, WithoutWaitersTheStreamLiesUntilOneAsks) {
  readers->waiters = 0;
  let_one_read("a");
  subscriber->release("b", Duration::zero());  // the loop looks once more
  readers->waiters = 2;
  subscriber->listen();
  await_reader("a", loops);
}

TEST_F(AttendanceTest, WhatLiesIsReadByTheThreadThatCatchesUp) {
  readers->waiters = 0;
  let_one_read("a");
  await_reader("a", std::this_thread::get_id(), [this] { subscriber->catch_up(); });
}

TEST_F(AttendanceTest, AThreadOfAnotherChannelReadsNext) {
  Waiter first(*subscriber, "a");
  await_reader("a", first.id());
  Waiter second(*subscriber, "b");
  first.stop();
  first.join();
  readers->waiters = 0;  // the loop finds no reason to read
  await_reader("b", second.id());
}

TEST_F(AttendanceTest, BeforeAReleaseTheNextThreadOfTheChannelReads) {
  Waiter first(*subscriber, "a");
  await_reader("a", first.id());
  Waiter second(*subscriber, "a");
  first.stop();
  first.join();
  subscriber->expect();
  await_reader("a", second.id());
}

TEST_F(AttendanceTest, WhereAWaiterHasNoThreadTheLoopReads) {
  Waiter waiter(*subscriber, "a");
  await_reader("a", waiter.id());
  subscriber->listen();
  await_reader("a", loops);
}

TEST_F(AttendanceTest, ABrokenStreamIsMadeAnewWhileAThreadReads) {
  Waiter waiter(*subscriber, "a");
  await_reader("a", waiter.id());
  EXPECT_EQ(publisher.ask("CLIENT KILL TYPE pubsub"), ":1\r\n");
  EXPECT_NE(readers->reader("lost"), std::thread::id{});
  EXPECT_NE(readers->reader("on a"), std::thread::id{});
  publisher.publish("a");
  EXPECT_NE(readers->reader("a"), std::thread::id{});
}

TEST_F(AttendanceTest, AThreadThatReadsWhileItIsClosedCanLeave) {
  Waiter waiter(*subscriber, "a");
  await_reader("a", waiter.id());
  subscriber->close();
  waiter.stop();
  waiter.join();
}

}  // namespace
}  // namespace holdfast::client
