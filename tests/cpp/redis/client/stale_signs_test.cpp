// Replies that show that the server is the wrong one: they wait, and nothing changes its order.

#include "redis/client/stale_signs.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "redis/client/connection.h"
#include "redis/resp/command.h"
#include "support/scripted_peer.h"
#include "support/world.h"

namespace holdfast::client {
namespace {

using Strings = std::vector<std::string>;

class Ask final : public Request {
 public:
  Ask(std::string word, Strings& log) : word_(std::move(word)), log_(log) {}

  std::string_view key() const override { return word_; }
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

// Servers answer with their names; one of them refuses what does not begin with "read".
class Servers final : public simulation::Peer {
 public:
  bool up() const override { return true; }
  void arrived(const std::shared_ptr<simulation::Wire>& wire,
               std::vector<simulation::Command> commands) override {
    for (const simulation::Command& command : commands) answer(*wire, command);
  }

  std::string replica;    // by its role
  std::string refuses;    // in its replies
  bool says_role = true;  // else the user may not ask
  Strings got;

 private:
  void answer(simulation::Wire& wire, const simulation::Command& command) {
    got.push_back(wire.owner() + " " + command.words.back());
    if (command.words.front() == "HELLO") {
      if (!says_role) return wire.reply("-NOPERM no\r\n");
      return wire.reply(wire.owner() == replica ? "*1\r\n$5\r\nslave\r\n"
                                                : "*1\r\n$6\r\nmaster\r\n");
    }
    const bool write = command.words.back().substr(0, 4) != "read";
    wire.reply(wire.owner() == refuses && write ? "-READONLY no\r\n" : "+" + wire.owner() + "\r\n");
  }
};

class Signs final : public StaleSigns {
 public:
  bool is_sign(std::string_view error) const override { return error == "READONLY no"; }
  std::uint64_t report() override { return ++reports, looks ? ++look : 0; }
  bool over(std::uint64_t number) const override { return over_ >= number; }
  void accepted() override { ++accepts; }
  void refused_for_now() override {}

  void end() { over_ = look; }

  bool looks = true;
  int reports = 0;
  int accepts = 0;
  std::uint64_t look = 0;

 private:
  std::uint64_t over_ = 0;
};

class StaleSignsTest : public ::testing::TestWithParam<Connection::Driver> {
 protected:
  StaleSignsTest() {
    network.weather.slow_per_mille = 0;
    setup.link.command_timeout = setup.link.connect_timeout = Millis(1000);
    setup.link.address = {"a", 1, {}};
    setup.link.signs = signs;
    setup.driver = GetParam();
    setup.open = [this](const StreamOptions& link) { return network.open(link.address.host); };
    connection = std::make_shared<Connection>(world, loop, setup);
  }
  ~StaleSignsTest() override {
    connection->close(Status::closed("over"));
    loop.run(Millis(10));
    loop.stop();
  }

  void ask(const std::string& word) {
    EXPECT_TRUE(connection->submit(std::make_shared<Ask>(word, log)).ok());
  }
  // The first request is answered, and the server is another one by then.
  void demote() {
    ask("first");
    loop.run(Millis(20));
    ASSERT_EQ(log, Strings{"first: a"});
    log.clear();
    servers.got.clear();
    servers.replica = servers.refuses = "a";
  }

  simulation::World world{1};
  Servers servers;
  simulation::Network network{world, servers};
  simulation::SteppedLoop loop{world, network};
  std::shared_ptr<Signs> signs = std::make_shared<Signs>();
  Connection::Setup setup;
  std::shared_ptr<Connection> connection;
  Strings log;
};

INSTANTIATE_TEST_SUITE_P(Drivers, StaleSignsTest,
                         ::testing::Values(Connection::Driver::kLoop, Connection::Driver::kCallers),
                         [](const auto& driver) {
                           return driver.param == Connection::Driver::kLoop ? "Loop" : "Callers";
                         });

TEST_P(StaleSignsTest, WhatIsRefusedAndWhatIsBehindItGoesInOrderToTheServerThatIsFound) {
  demote();
  ask("write");
  ask("read");
  ask("write again");
  loop.run(Millis(20));
  EXPECT_EQ(log, Strings{}) << "also the read, which the old server has answered";
  EXPECT_EQ(signs->reports, 1);
  servers.got.clear();
  connection->move(net::Address{"b", 1, {}});
  loop.run(Millis(20));
  EXPECT_EQ(log, (Strings{"write: b", "read: b", "write again: b"}));
  EXPECT_EQ(signs->accepts, 1);
}

TEST_P(StaleSignsTest, WithoutAnotherServerTheRepliesAreDelivered) {
  demote();
  ask("write");
  ask("read");
  loop.run(Millis(20));
  EXPECT_EQ(log, Strings{});
  signs->end();
  connection->look_again();
  loop.run(Millis(1));
  EXPECT_EQ(log, (Strings{"write: READONLY no", "read: a"}));
  EXPECT_EQ(network.open_wires().size(), 1U);
}

TEST_P(StaleSignsTest, TheyWaitForALimitedTime) {
  demote();
  ask("write");
  loop.run(Millis(80));
  EXPECT_EQ(log, Strings{"write: READONLY no"});
}

TEST_P(StaleSignsTest, WhereNoLookFollowsTheyAreDeliveredAtOnce) {
  signs->looks = false;
  demote();
  ask("write");
  loop.run(Millis(20));
  EXPECT_EQ(log, Strings{"write: READONLY no"});
}

TEST_P(StaleSignsTest, APrimaryThatRefusesOneCommandIsNotReported) {
  ask("first");
  loop.run(Millis(20));
  log.clear();
  servers.refuses = "a";
  ask("write");
  ask("read");
  loop.run(Millis(20));
  EXPECT_EQ(log, (Strings{"write: READONLY no", "read: a"}));
  EXPECT_EQ(signs->reports, 0);
}

TEST_P(StaleSignsTest, AServerWhoseRoleIsNotKnownIsReportedAtOnce) {
  servers.says_role = false;
  demote();
  ask("write");
  loop.run(Millis(20));
  EXPECT_EQ(servers.got, Strings{"a write"});
  EXPECT_EQ(signs->reports, 1);
}

TEST_P(StaleSignsTest, ARightThatWasTakenAwayIsNoAnswer) {
  demote();
  servers.says_role = false;
  ask("write");
  loop.run(Millis(20));
  EXPECT_EQ(servers.got, (Strings{"a write", "a 2"}));
  EXPECT_EQ(signs->reports, 1);
}

TEST_P(StaleSignsTest, AReplicaIsReportedWhenItIsGreeted) {
  servers.replica = "a";
  ask("read");
  loop.run(Millis(20));
  EXPECT_EQ(log, Strings{"read: a"});
  EXPECT_EQ(signs->reports, 1);
}

}  // namespace
}  // namespace holdfast::client
