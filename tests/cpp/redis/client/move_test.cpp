// A Connection and a Subscriber whose server is now here, now there.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "redis/client/connection.h"
#include "redis/client/subscriber.h"
#include "redis/resp/command.h"
#include "support/scripted_peer.h"
#include "support/world.h"

namespace holdfast::client {
namespace {

using Strings = std::vector<std::string>;

net::Address at(const std::string& host) { return {host, 1, {}}; }

class SampleRequest final : public Request {
 public:
  SampleRequest(std::string word, Strings& log) : word_(std::move(word)), log_(log) {}

  std::string_view key() const override { return {}; }
  resp::ReplyKinds encode(std::string& out, bool /*by_text*/) const override {
    out += resp::Command({"ASK", word_}).bytes();
    return resp::ReplyKinds::any();
  }
  void complete(Result<resp::Reply> reply, const Sent&) override {
    log_.push_back(word_ + ": " +
                   (reply.ok() ? std::string(reply.value().text()) : reply.status().message()));
  }

 private:
  const std::string word_;
  Strings& log_;
};

// Servers "a" and "b" answer with their names; what they got is written down.
class Servers final : public simulation::Peer {
 public:
  bool up() const override { return true; }
  void arrived(const std::shared_ptr<simulation::Wire>& wire,
               std::vector<simulation::Command> commands) override {
    for (const simulation::Command& command : commands) {
      const std::string& word = command.words.front();
      got.push_back(wire->owner() + " " + word);
      if (word == "HELLO") {
        wire->reply(wire->owner() == replica ? "*1\r\n$5\r\nslave\r\n" : "*1\r\n$6\r\nmaster\r\n");
      } else if (word == "SUBSCRIBE") {
        wire->reply("*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
      } else if (wire->owner() != silent) {
        wire->reply((wire->owner() == replica ? "-" + refusal : "+" + wire->owner()) + "\r\n");
      }
    }
  }

  std::string replica;
  std::string refusal = "READONLY no";
  std::string silent;
  Strings got;
};

class MoveTest : public ::testing::TestWithParam<Connection::Driver> {
 protected:
  MoveTest() {
    network.weather.slow_per_mille = 0;
    setup.link.command_timeout = setup.link.connect_timeout = Millis(1000);
    setup.link.service = "svc";
    setup.link.address = at("a");
    setup.driver = GetParam();
    setup.on_lost = [this] { ++lost; };
    setup.on_failed = [this] { ++failed; };
    setup.open = [this](const StreamOptions& link) { return network.open(link.address.host); };
    connection = std::make_shared<Connection>(world, loop, setup);
  }
  ~MoveTest() override {
    connection->close(Status::closed("over"));
    loop.run(Millis(10));
    loop.stop();
  }

  std::shared_ptr<SampleRequest> ask(const std::string& word, TimePoint deadline = kNever) {
    auto request = std::make_shared<SampleRequest>(word, log);
    request->deadline = deadline;
    EXPECT_TRUE(connection->submit(request).ok());
    return request;
  }
  Strings got() { return std::exchange(servers.got, {}); }
  Strings open_wires() const {
    Strings owners;
    for (const auto& wire : network.open_wires()) owners.push_back(wire->owner());
    return owners;
  }

  simulation::World world{1};
  Servers servers;
  simulation::Network network{world, servers};
  simulation::SteppedLoop loop{world, network};
  Connection::Setup setup;
  std::shared_ptr<Connection> connection;
  Strings log;
  int lost = 0;
  int failed = 0;
};

INSTANTIATE_TEST_SUITE_P(Drivers, MoveTest,
                         ::testing::Values(Connection::Driver::kLoop, Connection::Driver::kCallers),
                         [](const auto& driver) {
                           return driver.param == Connection::Driver::kLoop ? "Loop" : "Callers";
                         });

TEST_P(MoveTest, WhatIsUnansweredGoesOutAgainInOrderWhereTheServerIs) {
  servers.silent = "a";
  ask("1");
  ask("2");
  loop.run(Millis(20));
  ASSERT_EQ(got(), (Strings{"a HELLO", "a ASK", "a ASK"}));
  connection->move(at("b"));
  ask("3");
  loop.run(Millis(20));
  EXPECT_EQ(got(), (Strings{"b HELLO", "b ASK", "b ASK", "b ASK"}));
  EXPECT_EQ(log, (Strings{"1: b", "2: b", "3: b"}));
  EXPECT_EQ(open_wires(), Strings{"b"});
}

TEST_P(MoveTest, AnIdleStreamIsLeft) {
  ask("1");
  loop.run(Millis(20));
  connection->move(at("b"));
  loop.run(Millis(20));
  EXPECT_EQ(open_wires(), Strings{});
  EXPECT_EQ(lost, 0);
}

TEST_P(MoveTest, NothingIsSentWhereTheServerWas) {
  ask("1");
  loop.run(Millis(20));
  got();
  connection->move(at("b"));
  ask("2");
  ask("3");
  loop.run(Millis(20));
  EXPECT_EQ(got(), (Strings{"b HELLO", "b ASK", "b ASK"}));
}

TEST_P(MoveTest, NowhereAQuestionWaitsForItsDeadlineAndLearnsWhy) {
  connection->move(Status::unreachable("no primary"));
  ask("1", world.now() + Millis(500));
  ask("2", world.now() + Millis(900));
  loop.run(Millis(501));
  EXPECT_EQ(log, Strings{"1: no primary"});
  connection->move(at("b"));
  loop.run(Millis(20));
  EXPECT_EQ(log, (Strings{"1: no primary", "2: b"}));
  EXPECT_EQ(got(), (Strings{"b HELLO", "b ASK"}));
}

TEST_P(MoveTest, ARefusalOfWhoKnowsFailsEverythingAtOnce) {
  ask("1");
  connection->move(Status::server("ERR", "no such service"));
  loop.run(Millis(1));
  ask("2");
  loop.run(Millis(1));
  EXPECT_EQ(log, (Strings{"1: no such service", "2: no such service"}));
}

TEST_P(MoveTest, AReplicaIsNotUsed) {
  servers.replica = "a";
  ask("1");
  loop.run(Millis(100));
  EXPECT_EQ(log, Strings{});
  EXPECT_GE(failed, 2);
  for (const std::string& word : got()) EXPECT_EQ(word, "a HELLO");
  servers.replica = "";
  loop.run(Millis(200));
  EXPECT_EQ(log, Strings{"1: a"});
}

TEST_P(MoveTest, WhatADemotedServerRefusesIsAskedAgainInOrderBeforeTheRest) {
  ask("1");
  loop.run(Millis(20));
  log.clear();
  servers.replica = "a";
  ask("2");
  ask("3")->abandon();
  ask("4");
  loop.run(Millis(20));
  EXPECT_EQ(log, Strings{});
  EXPECT_EQ(lost, 1);
  EXPECT_GE(failed, 1);
  ask("5");
  got();
  connection->move(at("b"));
  loop.run(Millis(20));
  EXPECT_EQ(log, (Strings{"2: b", "4: b", "5: b"}));
  EXPECT_EQ(open_wires(), Strings{"b"});
}

TEST_P(MoveTest, ItIsDemotedWhateverItPutsAroundTheWord) {
  for (const char* refusal :
       {"READONLY You can't write against a read only replica. script: 4ca2, on @user_script:1.",
        "ERR Error running script (call to f_4ca2): @user_script:1: @user_script: 1: -READONLY You "
        "can't write against a read only slave."}) {
    ask("1");
    loop.run(Millis(20));
    log.clear();
    servers.refusal = refusal;
    servers.replica = "a";
    ask("2");
    loop.run(Millis(20));
    EXPECT_EQ(log, Strings{}) << refusal;
    servers.replica = "";
    loop.run(Millis(200));
    EXPECT_EQ(log, Strings{"2: a"}) << refusal;
    log.clear();
  }
}

TEST_P(MoveTest, OtherErrorsAreAnswers) {
  ask("1");
  loop.run(Millis(20));
  log.clear();
  servers.replica = "a";
  servers.refusal = "ERR Error running script: @user_script:1: READONLY is what it says";
  ask("2");
  loop.run(Millis(20));
  EXPECT_EQ(log, Strings{"2: " + servers.refusal});
}

TEST_P(MoveTest, AClosedConnectionStaysClosed) {
  connection->close(Status::closed("over"));
  connection->move(at("b"));
  loop.run(Millis(20));
  EXPECT_EQ(got(), Strings{});
}

class Listener final : public Subscriber::Sink {
 public:
  void on_subscribed(const std::string&, TimePoint, bool fresh) override {
    subscribed += fresh ? 1 : 0;
  }
  void on_message(const std::string&, std::string_view) override {}
  void on_refused(const std::string&, const Status&) override {}
  void on_unreachable(const std::set<std::string>&, const Status& why) override {
    notified = why.message();
  }
  bool on_released(const std::string&) override { return true; }
  void on_lost() override { ++lost; }

  int subscribed = 0;
  int lost = 0;
  std::string notified;
};

TEST_P(MoveTest, ASubscriberListensWhereTheServerIs) {
  const auto listener = std::make_shared<Listener>();
  const auto subscriber =
      std::make_shared<Subscriber>(world, loop, setup.link, listener, setup.open);
  subscriber->subscribe("c");
  loop.run(Millis(20));
  ASSERT_EQ(listener->subscribed, 1);
  subscriber->move(at("b"));
  loop.run(Millis(20));
  EXPECT_EQ(listener->subscribed, 2);
  EXPECT_EQ(open_wires(), Strings{"b"});
  subscriber->move(Status::unreachable("no primary"));
  loop.run(Millis(999));
  EXPECT_EQ(listener->notified, "");
  loop.run(Millis(2));
  EXPECT_EQ(listener->notified, "no primary");
  subscriber->move(Status::server("ERR", "no such service"));
  loop.run(Millis(2));
  EXPECT_EQ(listener->notified, "no such service");
  EXPECT_EQ(listener->lost, 0);
  subscriber->close();
  loop.run(Millis(2));
}

}  // namespace
}  // namespace holdfast::client
