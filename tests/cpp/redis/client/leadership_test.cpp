// Threads that share a connection of Driver::kCallers, over real sockets.

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "redis/base/mutex.h"
#include "redis/client/connection.h"
#include "redis/net/event_loop.h"
#include "redis/resp/command.h"
#include "support/echo_server.h"

namespace holdfast::client {
namespace {

using simulation::EchoServer;

// Places to wait, which are not destroyed, as those of threads are not: a notification may come
// when its thread has left.
class Parkers {
 public:
  static Parkers& instance() {
    static Parkers all;
    return all;
  }
  Parker& take() {
    const MutexLock lock(mutex_);
    if (idle_.empty()) return all_.emplace_back();
    Parker& parker = *idle_.back();
    idle_.pop_back();
    return parker;
  }
  void give(Parker& parker) {
    const MutexLock lock(mutex_);
    idle_.push_back(&parker);
  }

 private:
  Mutex mutex_;
  std::deque<Parker> all_;
  std::vector<Parker*> idle_;
};

// A request with a place for its thread to wait.
class SampleRequest final : public Request {
 public:
  explicit SampleRequest(std::string word) : word_(std::move(word)) {}
  ~SampleRequest() override { Parkers::instance().give(parker); }
  SampleRequest(const SampleRequest&) = delete;
  SampleRequest& operator=(const SampleRequest&) = delete;

  std::string_view key() const override { return {}; }
  resp::ReplyKinds encode(std::string& out, bool /*by_text*/) const override {
    out += resp::Command({"ASK", word_}).bytes();
    return resp::ReplyKinds::any();
  }
  void complete(Result<resp::Reply> reply, const Sent&) override {
    answer = reply.ok() ? std::string(reply.value().text()) : reply.status().message();
    control.done.store(true, std::memory_order_release);
    parker.notify();
  }
  void written() override { written_count.store(true); }
  bool done() const { return control.done.load(std::memory_order_acquire); }

  std::string answer;
  std::atomic<bool> written_count{false};  // that it is written
  ServeControl control;
  Parker& parker = Parkers::instance().take();

 private:
  const std::string word_;
};

class LeadershipTest : public ::testing::Test {
 protected:
  void connect(const EchoServer& server) {
    Connection::Setup setup;
    setup.link.address = server.address();
    setup.driver = Connection::Driver::kCallers;
    connection_ = std::make_shared<Connection>(clock_, loop_, setup);
  }
  ~LeadershipTest() override {
    connection_->close(Status::closed("over"));
    loop_.stop();
  }

  std::shared_ptr<SampleRequest> submit(const std::string& word, bool with_thread = true) {
    auto request = std::make_shared<SampleRequest>(word);
    request->deadline = after(clock_.now(), Millis(30000));
    EXPECT_TRUE(connection_->submit(request, with_thread ? &request->parker : nullptr).ok());
    return request;
  }
  void serve(SampleRequest& request, TimePoint slice = kNever) {
    connection_->serve(request.parker, request.control, slice);
  }
  std::string ask(const std::string& word) {
    const auto request = submit(word);
    while (!request->done()) serve(*request);
    return request->answer;
  }
  // Waits without taking part.
  static void await(const SampleRequest& request) {
    while (!request.done()) std::this_thread::yield();
  }

  // Each of `threads` threads asks `requests` requests. Returns the number of wrong answers.
  int crowd(int threads, int requests) {
    std::atomic<int> wrong{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        for (int i = 0; i < requests; ++i) {
          const std::string word = std::to_string(t) + "." + std::to_string(i);
          if (ask(word) != word) ++wrong;
        }
      });
    }
    for (std::thread& thread : all) thread.join();
    return wrong;
  }

  const SystemClock clock_;
  net::EventLoop loop_{clock_, "test"};
  std::shared_ptr<Connection> connection_;
};

TEST_F(LeadershipTest, AloneACallerDoesItsOwnReading) {
  EchoServer server;
  connect(server);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ask(std::to_string(i)), std::to_string(i));
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(LeadershipTest, ACrowdSharesOneConnection) {
  EchoServer server;
  connect(server);
  EXPECT_EQ(crowd(8, 300), 0);
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(server.commands(), 8 * 300);
}

TEST_F(LeadershipTest, ACrowdSurvivesBrokenStreams) {
  EchoServer server(60);
  connect(server);
  EXPECT_EQ(crowd(8, 100), 0);
  EXPECT_GT(server.connections(), 8 * 100 / 60);
}

TEST_F(LeadershipTest, WithoutAThreadTheLoopReads) {
  EchoServer server;
  connect(server);
  const auto request = submit("a", false);
  await(*request);
  EXPECT_EQ(request->answer, "a");
}

TEST_F(LeadershipTest, AReplyThatNoCallerAwaitsIsReadByTheNextCallerOrTheLoop) {
  EchoServer server;
  connect(server);
  (void)ask("the stream is made");
  for (int i = 0; i < 200; ++i) {
    const auto deferred = std::make_shared<SampleRequest>("deferred");
    deferred->deferred = true;
    ASSERT_TRUE(connection_->submit(deferred).ok());
    // Where the loop has read the reply already, written() is not called.
    EXPECT_TRUE(deferred->written_count || deferred->done());
    if (i % 20 == 0) await(*deferred);  // the loop
    EXPECT_EQ(ask("awaited"), "awaited");
    EXPECT_TRUE(deferred->done());
  }
}

TEST_F(LeadershipTest, TheLoopReadsForThoseWithoutAThreadAmongOthers) {
  EchoServer server;
  connect(server);
  std::vector<std::shared_ptr<SampleRequest>> requests;
  std::thread others([&] { EXPECT_EQ(crowd(4, 100), 0); });
  for (int i = 0; i < 200; ++i) {
    requests.push_back(submit(std::to_string(i), false));
    if (i % 10 == 0) await(*requests.back());
  }
  for (const auto& request : requests) await(*request);
  others.join();
}

TEST_F(LeadershipTest, ALeaderThatGoesAwayLeavesItsPlaceToAnother) {
  EchoServer server;
  connect(server);
  ASSERT_EQ(ask("hello"), "hello");
  server.be_silent(true);
  const auto first = submit("a");
  const auto second = submit("b");
  std::thread follower([&] {
    while (!second->done()) serve(*second);
  });
  serve(*first, after(clock_.now(), Millis(20)));
  EXPECT_FALSE(first->done());
  server.be_silent(false);
  follower.join();
  EXPECT_EQ(second->answer, "b");
  await(*first);
  EXPECT_EQ(first->answer, "a");
}

TEST_F(LeadershipTest, TheLastLeaderThatGoesAwayLeavesItsPlaceToTheLoop) {
  EchoServer server;
  connect(server);
  ASSERT_EQ(ask("hello"), "hello");
  server.be_silent(true);
  const auto request = submit("a");
  serve(*request, after(clock_.now(), Millis(20)));
  EXPECT_FALSE(request->done());
  server.be_silent(false);
  await(*request);
  EXPECT_EQ(request->answer, "a");
}

// As for the waiters of a lock, for which another thread sends the attempt after a release.
TEST_F(LeadershipTest, SleepersWhoseRequestsAnotherThreadSendsReadForEachOther) {
  EchoServer server;
  connect(server);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::shared_ptr<SampleRequest>> requests;
    std::vector<std::thread> sleepers;
    for (int i = 0; i < 8; ++i) {
      requests.push_back(std::make_shared<SampleRequest>(std::to_string(i)));
      requests.back()->deadline = after(clock_.now(), Millis(30000));
      sleepers.emplace_back([this, request = requests.back()] {
        while (!request->done()) serve(*request);
      });
    }
    for (const auto& request : requests) {
      EXPECT_TRUE(connection_->submit(request, &request->parker).ok());
    }
    for (std::thread& sleeper : sleepers) sleeper.join();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(requests[i]->answer, std::to_string(i));
    }
  }
}

TEST_F(LeadershipTest, AChangedStayEndsTheLeadersWait) {
  EchoServer server;
  connect(server);
  ASSERT_EQ(ask("hello"), "hello");
  server.be_silent(true);
  const auto request = submit("a");
  std::thread changer([&] {
    request->control.set_until(clock_.now());
    request->parker.notify();
  });
  serve(*request);
  changer.join();
  EXPECT_FALSE(request->done());
}

TEST_F(LeadershipTest, ClosingEndsAllWaits) {
  EchoServer server;
  connect(server);
  ASSERT_EQ(ask("hello"), "hello");
  server.be_silent(true);
  std::vector<std::shared_ptr<SampleRequest>> requests;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) requests.push_back(submit(std::to_string(i)));
  for (const auto& request : requests) {
    waiters.emplace_back([this, request] {
      while (!request->done()) serve(*request);
      EXPECT_EQ(request->answer, "closed now");
    });
  }
  connection_->close(Status::closed("closed now"));
  for (std::thread& waiter : waiters) waiter.join();
}

}  // namespace
}  // namespace holdfast::client
