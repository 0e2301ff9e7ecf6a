// A connection whose server is one of several: what is not its server's any more goes elsewhere, in
// order.

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "redis/client/connection.h"
#include "redis/resp/command.h"
#include "support/scripted_peer.h"
#include "support/world.h"

namespace holdfast::client {
namespace {

using Strings = std::vector<std::string>;

class SampleRequest final : public Request {
 public:
  SampleRequest(std::string word, Strings& ends) : word_(std::move(word)), ends_(ends) {}
  std::string_view key() const override { return word_; }
  resp::ReplyKinds encode(std::string& out, bool /*by_text*/) const override {
    out += resp::Command({"ASK", word_}).bytes();
    return resp::ReplyKinds::any();
  }
  void complete(Result<resp::Reply> reply, const Sent&) override {
    ends_.push_back(word_ + (reply.ok() ? "=" + std::string(reply.value().text()) : " failed"));
  }

 private:
  const std::string word_;
  Strings& ends_;
};

class NeighboursTest : public ::testing::Test {
 protected:
  NeighboursTest() {
    network.weather.slow_per_mille = 0;
    Connection::Setup setup;
    setup.driver = Connection::Driver::kLoop;
    setup.open = [this](const StreamOptions&) { return network.open("client"); };
    setup.neighbours.mine = [this](const Request& request) {
      return mine && others.count(std::string(request.key())) == 0;
    };
    setup.neighbours.hand_over = [this](const InFlightRequest& unanswered, bool queued) {
      handed.push_back((queued ? "old " : "new ") + std::string(unanswered.request->key()));
      return refuses ? Status::closed("over") : Status();
    };
    connection = std::make_shared<Connection>(world, loop, setup);
  }
  ~NeighboursTest() override {
    connection->close(Status::closed("over"));
    loop.run(Millis(10));
    loop.stop();
  }

  void submit(const std::string& word) {
    const auto request = std::make_shared<SampleRequest>(word, ends);
    request->deadline = after(world.now(), Millis(60000));
    EXPECT_TRUE(connection->submit(request).ok());
  }
  void run() { loop.run(Millis(20)); }

  simulation::World world{1};
  simulation::ScriptedPeer peer;
  simulation::Network network{world, peer};
  simulation::SteppedLoop loop{world, network};
  bool mine = true;
  bool refuses = false;
  std::set<std::string> others;
  Strings ends;
  Strings handed;
  std::shared_ptr<Connection> connection;
};

TEST_F(NeighboursTest, WhatIsItsServersIsAnsweredThere) {
  submit("a");
  run();
  EXPECT_EQ(ends, Strings{"a=a"});
  EXPECT_TRUE(handed.empty());
}

TEST_F(NeighboursTest, WhatIsNotIsHandedOverAtOnce) {
  others = {"b"};
  submit("a");
  submit("b");
  EXPECT_EQ(handed, Strings{"new b"});
  run();
  EXPECT_EQ(ends, Strings{"a=a"});
}

TEST_F(NeighboursTest, AResubmittedRequestIsNotPassedOnAgain) {
  others = {"b"};
  EXPECT_TRUE(connection->resubmit({std::make_shared<SampleRequest>("b", ends)}).ok());
  run();
  EXPECT_EQ(ends, Strings{"b=b"});
}

TEST_F(NeighboursTest, AServerThatLeavesHandsItsLineOverInOrder) {
  peer.answer = [](const std::string&) { return std::string(); };
  for (const char* word : {"a", "b", "c"}) submit(word);
  run();
  mine = false;
  connection->decommission();
  run();
  EXPECT_EQ(handed, (Strings{"old a", "old b", "old c"}));
  submit("d");
  EXPECT_EQ(handed.back(), "new d");
  EXPECT_TRUE(connection->resubmit({std::make_shared<SampleRequest>("e", ends)}).ok());
  EXPECT_EQ(handed.back(), "old e");
  EXPECT_TRUE(ends.empty());
}

TEST_F(NeighboursTest, ARequestThatNoServerTakesIsAnswered) {
  peer.answer = [](const std::string&) { return std::string(); };
  submit("a");
  run();
  mine = false;
  refuses = true;
  connection->decommission();
  run();
  EXPECT_EQ(ends, Strings{"a failed"});
}

TEST_F(NeighboursTest, OutOfReachOnlyWhatIsAnothersIsHandedOver) {
  peer.accepts = false;
  for (const char* word : {"a", "b", "c"}) submit(word);
  run();
  others = {"a", "c"};
  connection->review();
  run();
  EXPECT_EQ(handed, (Strings{"old a", "old c"}));
  peer.accepts = true;
  loop.run(Millis(3000));
  EXPECT_EQ(ends, Strings{"b=b"});
}

TEST_F(NeighboursTest, AServerInReachAnswersForWhatItWasSent) {
  peer.answer = [](const std::string&) { return std::string(); };
  submit("a");
  run();
  others = {"a"};
  connection->review();
  run();
  EXPECT_TRUE(handed.empty());
}

TEST_F(NeighboursTest, AnErrorReplyIsLookedAtFirst) {
  Connection::Setup setup;
  setup.driver = Connection::Driver::kLoop;
  setup.open = [this](const StreamOptions&) { return network.open("client"); };
  Strings seen;
  setup.redirect = [&seen](const InFlightRequest& unanswered, std::string_view error) {
    seen.push_back(std::string(unanswered.request->key()) + ": " + std::string(error));
    return error.substr(0, 5) == "MOVED";
  };
  peer.answer = [](const std::string& words) {
    return words == "ASK a" ? "-MOVED 1 h:1\r\n" : "-ERR no\r\n";
  };
  const auto other = std::make_shared<Connection>(world, loop, setup);
  EXPECT_TRUE(other->submit(std::make_shared<SampleRequest>("a", ends)).ok());
  EXPECT_TRUE(other->submit(std::make_shared<SampleRequest>("b", ends)).ok());
  run();
  EXPECT_EQ(seen, (Strings{"a: MOVED 1 h:1", "b: ERR no"}));
  EXPECT_EQ(ends, Strings{"b=ERR no"});
  other->close(Status::closed("over"));
  run();
}

}  // namespace
}  // namespace holdfast::client
