// Threads that share a connection of Driver::kCallers, over real sockets.

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "client/connection.h"
#include "net/event_loop.h"
#include "resp/command.h"
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

// A question with a place for its thread to wait.
class Question final : public Request {
 public:
  explicit Question(std::string word) : word_(std::move(word)) {}
  ~Question() override { Parkers::instance().give(parker); }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  std::string_view key() const override { return {}; }
  resp::ReplyKinds encode(std::string& out) const override {
    out += resp::Command({"ASK", word_}).bytes();
    return resp::ReplyKinds::any();
  }
  void complete(Result<resp::Reply> reply, const Sent&) override {
    answer = reply.ok() ? std::string(reply.value().text()) : reply.status().message();
    control.done.store(true, std::memory_order_release);
    parker.notify();
  }
  void written() override { heard.store(true); }
  bool done() const { return control.done.load(std::memory_order_acquire); }

  std::string answer;
  std::atomic<bool> heard{false};  // that it is written
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

  std::shared_ptr<Question> submit(const std::string& word, bool with_thread = true) {
    auto question = std::make_shared<Question>(word);
    question->deadline = after(clock_.now(), Millis(30000));
    EXPECT_TRUE(connection_->submit(question, with_thread ? &question->parker : nullptr).ok());
    return question;
  }
  void serve(Question& question, TimePoint slice = kNever) {
    connection_->serve(question.parker, question.control, slice);
  }
  std::string ask(const std::string& word) {
    const auto question = submit(word);
    while (!question->done()) serve(*question);
    return question->answer;
  }
  // Waits without taking part.
  static void await(const Question& question) {
    while (!question.done()) std::this_thread::yield();
  }

  // Each of `threads` threads asks `questions` questions. Returns the number of wrong answers.
  int crowd(int threads, int questions) {
    std::atomic<int> wrong{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        for (int i = 0; i < questions; ++i) {
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
  const auto question = submit("a", false);
  await(*question);
  EXPECT_EQ(question->answer, "a");
}

TEST_F(LeadershipTest, AReplyThatNoCallerAwaitsIsReadByTheNextCallerOrTheLoop) {
  EchoServer server;
  connect(server);
  (void)ask("the stream is made");
  for (int i = 0; i < 200; ++i) {
    const auto deferred = std::make_shared<Question>("deferred");
    deferred->deferred = true;
    ASSERT_TRUE(connection_->submit(deferred).ok());
    // Where the loop has read the reply already, written() is not called.
    EXPECT_TRUE(deferred->heard || deferred->done());
    if (i % 20 == 0) await(*deferred);  // the loop
    EXPECT_EQ(ask("awaited"), "awaited");
    EXPECT_TRUE(deferred->done());
  }
}

TEST_F(LeadershipTest, TheLoopReadsForThoseWithoutAThreadAmongOthers) {
  EchoServer server;
  connect(server);
  std::vector<std::shared_ptr<Question>> questions;
  std::thread others([&] { EXPECT_EQ(crowd(4, 100), 0); });
  for (int i = 0; i < 200; ++i) {
    questions.push_back(submit(std::to_string(i), false));
    if (i % 10 == 0) await(*questions.back());
  }
  for (const auto& question : questions) await(*question);
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
  const auto question = submit("a");
  serve(*question, after(clock_.now(), Millis(20)));
  EXPECT_FALSE(question->done());
  server.be_silent(false);
  await(*question);
  EXPECT_EQ(question->answer, "a");
}

// As for the waiters of a lock, for which another thread sends the attempt after a release.
TEST_F(LeadershipTest, SleepersWhoseRequestsAnotherThreadSendsReadForEachOther) {
  EchoServer server;
  connect(server);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::shared_ptr<Question>> questions;
    std::vector<std::thread> sleepers;
    for (int i = 0; i < 8; ++i) {
      questions.push_back(std::make_shared<Question>(std::to_string(i)));
      questions.back()->deadline = after(clock_.now(), Millis(30000));
      sleepers.emplace_back([this, question = questions.back()] {
        while (!question->done()) serve(*question);
      });
    }
    for (const auto& question : questions) {
      EXPECT_TRUE(connection_->submit(question, &question->parker).ok());
    }
    for (std::thread& sleeper : sleepers) sleeper.join();
    for (std::size_t i = 0; i < questions.size(); ++i) {
      EXPECT_EQ(questions[i]->answer, std::to_string(i));
    }
  }
}

TEST_F(LeadershipTest, AChangedStayEndsTheLeadersWait) {
  EchoServer server;
  connect(server);
  ASSERT_EQ(ask("hello"), "hello");
  server.be_silent(true);
  const auto question = submit("a");
  std::thread changer([&] {
    question->control.set_until(clock_.now());
    question->parker.notify();
  });
  serve(*question);
  changer.join();
  EXPECT_FALSE(question->done());
}

TEST_F(LeadershipTest, ClosingEndsAllWaits) {
  EchoServer server;
  connect(server);
  ASSERT_EQ(ask("hello"), "hello");
  server.be_silent(true);
  std::vector<std::shared_ptr<Question>> questions;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) questions.push_back(submit(std::to_string(i)));
  for (const auto& question : questions) {
    waiters.emplace_back([this, question] {
      while (!question->done()) serve(*question);
      EXPECT_EQ(question->answer, "closed now");
    });
  }
  connection_->close(Status::closed("closed now"));
  for (std::thread& waiter : waiters) waiter.join();
}

}  // namespace
}  // namespace holdfast::client
