// An event loop of the application that leads a connection, over real sockets.

#include "redis/client/event_loop_reader.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "redis/client/connection.h"
#include "redis/net/event_loop.h"
#include "redis/net/transport.h"
#include "redis/resp/command.h"
#include "support/echo_server.h"

namespace holdfast::client {
namespace {

using simulation::EchoServer;
using Sends = EventLoopReader::Sends;

// A request, and which thread got its answer.
class SampleRequest final : public Request {
 public:
  explicit SampleRequest(std::string word) : word_(std::move(word)) {}

  std::string_view key() const override { return {}; }
  resp::ReplyKinds encode(std::string& out, bool /*by_text*/) const override {
    out += resp::Command({"ASK", word_}).bytes();
    sent = true;
    return resp::ReplyKinds::any();
  }
  void complete(Result<resp::Reply> reply, const Sent&) override {
    answer = reply.ok() ? std::string(reply.value().text()) : reply.status().message();
    reader = std::this_thread::get_id();
    done.store(true);
  }
  bool read_here() const { return done && reader == std::this_thread::get_id(); }

  std::string answer;
  std::thread::id reader;
  std::atomic<bool> done{false};
  mutable std::atomic<bool> sent{false};

 private:
  const std::string word_;
};

// As TLS: it may hold bytes that the descriptor does not show. A read blocks until it holds
// `hoard` of them, once.
class HoardingTransport final : public net::Transport {
 public:
  HoardingTransport(const net::Address& address, std::atomic<std::size_t>& hoard)
      : inner_(net::open_transport(address, {}, Millis(5000))), hoard_(hoard) {}

  int fd() const override { return inner_->fd(); }
  net::IoResult connect() override { return inner_->connect(); }
  bool has_input() const override { return !held_.empty() || inner_->has_input(); }
  net::IoResult write(const char* from, std::size_t size) override {
    return inner_->write(from, size);
  }
  void abort() override { inner_->abort(); }

  net::IoResult read(char* into, std::size_t size) override {
    const std::size_t wanted = hoard_.exchange(0);
    while (held_.size() < wanted) {
      std::array<char, 16384> piece{};
      held_.append(piece.data(), inner_->read(piece.data(), piece.size()).bytes);
    }
    if (held_.empty()) return inner_->read(into, size);
    net::IoResult result;
    result.bytes = held_.copy(into, size);
    held_.erase(0, result.bytes);
    return result;
  }

 private:
  const std::unique_ptr<net::Transport> inner_;
  std::atomic<std::size_t>& hoard_;
  std::string held_;
};

class EventLoopReaderTest : public ::testing::Test {
 protected:
  EventLoopReaderTest() { connect(); }
  ~EventLoopReaderTest() override {
    connection_->close(Status::closed("over"));
    mine_->give_up();
    other_->give_up();
    loop_.stop();
  }

  void connect(Millis command_timeout = Millis(5000)) {
    Connection::Setup setup;
    setup.link.address = server_.address();
    setup.link.command_timeout = command_timeout;
    setup.driver = Connection::Driver::kLoop;
    setup.on_lost = [this] { ++lost_; };
    setup.open = [this](const StreamOptions& options) {
      return std::make_unique<HoardingTransport>(options.address, hoard_);
    };
    connection_ = std::make_shared<Connection>(clock_, loop_, setup);
  }

  std::shared_ptr<SampleRequest> submit(const std::string& word, bool deferred = false) {
    auto request = std::make_shared<SampleRequest>(word);
    request->deadline = after(clock_.now(), Millis(30000));
    request->deferred = deferred;
    EXPECT_TRUE(connection_->submit(request).ok());
    return request;
  }
  std::shared_ptr<SampleRequest> submit_from(EventLoopReader& loop, const std::string& word) {
    const EventLoopReader::Scope scope(loop, Sends::kAtOnce);
    return submit(word);
  }
  // What the loop's thread does until the answer is there.
  static void run(EventLoopReader& loop, const SampleRequest& request) {
    while (!request.done) {
      pollfd input{loop.fd(), POLLIN, 0};
      if (::poll(&input, 1, 1) == 0) continue;
      const EventLoopReader::Scope scope(loop, Sends::kAtTheEnd);
      loop.turn();
    }
  }
  static void await(const SampleRequest& request) {
    while (!request.done) std::this_thread::yield();
  }
  // Until a request of the loop's thread is answered there: it leads.
  bool leads(EventLoopReader& loop) {
    for (int i = 0; i < 1000; ++i) {
      const auto request = submit_from(loop, "lead");
      run(loop, *request);
      if (request->read_here()) return true;
    }
    return false;
  }

  EchoServer server_;
  const SystemClock clock_;
  net::EventLoop loop_{clock_, "test"};
  std::shared_ptr<EventLoopReader> mine_ = std::make_shared<EventLoopReader>();
  std::shared_ptr<EventLoopReader> other_ = std::make_shared<EventLoopReader>();
  std::atomic<int> lost_{0};
  std::atomic<std::size_t> hoard_{0};
  std::shared_ptr<Connection> connection_;
};

TEST_F(EventLoopReaderTest, ItReadsForItselfOnceTheStreamIsReady) {
  ASSERT_TRUE(leads(*mine_));
  for (int i = 0; i < 100; ++i) {
    const auto request = submit_from(*mine_, std::to_string(i));
    run(*mine_, *request);
    EXPECT_EQ(request->answer, std::to_string(i));
    EXPECT_TRUE(request->read_here());
  }
  EXPECT_EQ(server_.connections(), 1);
}

TEST_F(EventLoopReaderTest, ItReadsForOtherThreadsToo) {
  ASSERT_TRUE(leads(*mine_));
  std::shared_ptr<SampleRequest> request;
  std::thread([&] { request = submit("theirs"); }).join();
  run(*mine_, *request);
  EXPECT_TRUE(request->read_here());
}

TEST_F(EventLoopReaderTest, WhatAScopeGathersIsSentAtItsEnd) {
  ASSERT_TRUE(leads(*mine_));
  const int before = server_.commands();
  std::vector<std::shared_ptr<SampleRequest>> requests;
  {
    const EventLoopReader::Scope scope(*mine_, Sends::kAtTheEnd);
    for (int i = 0; i < 10; ++i) requests.push_back(submit(std::to_string(i)));
    EXPECT_EQ(server_.commands(), before);
  }
  run(*mine_, *requests.back());
  for (const auto& request : requests) EXPECT_TRUE(request->read_here());
}

TEST_F(EventLoopReaderTest, ADeferredRequestIsSentWhenSubmitReturns) {
  ASSERT_TRUE(leads(*mine_));
  {
    const EventLoopReader::Scope scope(*mine_, Sends::kAtTheEnd);
    const auto gathered = submit("a");
    const auto deferred = submit("b", true);
    EXPECT_TRUE(deferred->sent);
  }
  mine_->give_up();
  await(*submit("c"));
  EXPECT_TRUE(submit("d", true)->sent) << "where the engine's loop leads";
}

TEST_F(EventLoopReaderTest, WhatFollowsADeferredRequestDoesNotWaitForItsReply) {
  ASSERT_TRUE(leads(*mine_));
  server_.be_silent(true);
  const EventLoopReader::Scope scope(*mine_, Sends::kAtOnce);
  (void)submit("a", true);
  const auto next = submit("b");
  EXPECT_TRUE(next->sent);
  const auto gathered = submit("c");
  EXPECT_FALSE(gathered->sent) << "a caller awaits a reply";
  server_.be_silent(false);
  run(*mine_, *gathered);
}

TEST_F(EventLoopReaderTest, TheEngineReadsForALoopThatDoesNot) {
  ASSERT_TRUE(leads(*mine_));
  const auto first = submit_from(*mine_, "a");
  const auto gathered = submit_from(*mine_, "b");
  await(*first);
  await(*gathered);
  EXPECT_EQ(first->answer + gathered->answer, "ab");
  EXPECT_FALSE(first->read_here());
  EXPECT_TRUE(leads(*mine_)) << "it never leads again";
}

TEST_F(EventLoopReaderTest, TheEngineSendsWhatALoopHasGatheredAndNotSent) {
  ASSERT_TRUE(leads(*mine_));
  const EventLoopReader::Scope scope(*mine_, Sends::kAtTheEnd);
  const auto request = submit("a");
  await(*request);
  EXPECT_EQ(request->answer, "a");
}

TEST_F(EventLoopReaderTest, ALoopThatEndsLeavesItsRequestsToTheEngine) {
  ASSERT_TRUE(leads(*mine_));
  server_.be_silent(true);
  const auto first = submit_from(*mine_, "a");
  const auto second = submit_from(*mine_, "b");
  mine_->give_up();
  server_.be_silent(false);
  await(*second);
  EXPECT_EQ(first->answer + second->answer, "ab");
  EXPECT_EQ(server_.connections(), 1);
}

TEST_F(EventLoopReaderTest, TheEngineReadsWhatTheDescriptorDoesNotShow) {
  ASSERT_TRUE(leads(*mine_));
  server_.be_silent(true);
  constexpr int kWord = 1000;
  constexpr int kWords = 400;  // more than is read in one turn
  const int before = server_.commands();
  std::shared_ptr<SampleRequest> last;
  for (int i = 1; i <= kWords; ++i) {
    last = submit(std::string(kWord, 'x'));
    while (server_.commands() < before + i) std::this_thread::yield();  // no full socket
  }
  hoard_ = std::size_t{kWord + 3} * kWords;  // with its type and the end of the line
  server_.be_silent(false);
  const TimePoint begun = clock_.now();
  run(*mine_, *last);
  EXPECT_LT(clock_.now(), after(begun, Millis(2500))) << "only at the command time-out";
}

TEST_F(EventLoopReaderTest, TheEngineReadsWhatTwoLoopsUse) {
  ASSERT_TRUE(leads(*mine_));
  const auto theirs = submit_from(*other_, "theirs");
  await(*theirs);  // though neither loop turns
  EXPECT_EQ(theirs->answer, "theirs");
  const auto own = submit_from(*mine_, "mine");
  run(*mine_, *own);
  EXPECT_FALSE(own->read_here());
}

TEST_F(EventLoopReaderTest, TheEndOfAnIdleStreamIsNoticedByTheEngine) {
  ASSERT_TRUE(leads(*mine_));
  EXPECT_EQ(lost_, 0);
  server_.hang_up();
  while (lost_ == 0) std::this_thread::yield();
  EXPECT_TRUE(leads(*mine_));
  EXPECT_EQ(server_.connections(), 2);
}

TEST_F(EventLoopReaderTest, ASilentServerIsLeftAtTheCommandTimeout) {
  connection_->close(Status::closed("over"));
  connect(Millis(200));
  ASSERT_TRUE(leads(*mine_));
  server_.be_silent(true);
  const auto request = submit_from(*mine_, "a");
  while (lost_ == 0) std::this_thread::yield();
  server_.be_silent(false);
  await(*request);
  EXPECT_EQ(request->answer, "a");
}

TEST_F(EventLoopReaderTest, ClosingFailsWhatIsUnansweredAtOnce) {
  ASSERT_TRUE(leads(*mine_));
  server_.be_silent(true);
  const auto request = submit_from(*mine_, "a");
  connection_->close(Status::closed("closed now"));
  EXPECT_EQ(request->answer, "closed now");
}

// Several threads, a loop each, that stop now and then; streams break meanwhile.
TEST_F(EventLoopReaderTest, EveryAnswerComesWithAnyLeader) {
  EchoServer breaking(97);
  Connection::Setup setup;
  setup.link.address = breaking.address();
  setup.driver = Connection::Driver::kLoop;
  const auto shared = std::make_shared<Connection>(clock_, loop_, setup);
  std::atomic<int> wrong{0};
  const auto talk = [&](int number, int pause) {
    const auto own = std::make_shared<EventLoopReader>();
    for (int i = 0; i < 300; ++i) {
      const std::string word = std::to_string(number) + "." + std::to_string(i);
      const auto request = std::make_shared<SampleRequest>(word);
      request->deadline = after(clock_.now(), Millis(30000));
      {
        const EventLoopReader::Scope scope(*own, Sends::kAtOnce);
        EXPECT_TRUE(shared->submit(request).ok());
      }
      if (i % 100 == pause) {
        await(*request);
      } else {
        run(*own, *request);
      }
      if (request->answer != word) ++wrong;
    }
    own->give_up();
  };
  talk(0, 50);
  std::thread first(talk, 1, 30);
  std::thread second(talk, 2, 60);
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0);
  shared->close(Status::closed("over"));
}

}  // namespace
}  // namespace holdfast::client
