// Whose WAIT is believed when what replicas are to know is sent on to another server.

#include "locks/sync/operation/replica_acknowledger.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "locks/sync/recipes/kinds.h"
#include "redis/resp/command.h"
#include "support/network.h"
#include "support/world.h"

namespace holdfast::sync {
namespace {

using client::Connection;
using client::InFlightRequest;
using Strings = std::vector<std::string>;

// Its write is a PEXPIRE.
const TakingRecipe& recipe() { return *semaphore().recipe.taking; }

// Two servers, "old" and "new", that take writes; have() says later what the replicas have of them.
class Servers final : public simulation::Peer {
 public:
  bool up() const override { return true; }
  void arrived(const std::shared_ptr<simulation::Wire>& wire,
               std::vector<simulation::Command> commands) override {
    for (const simulation::Command& command : commands) {
      const std::string& first = command.words.front();
      const std::string word = first == "PEXPIRE" ? "WRITE" : first;
      got.push_back(wire->owner() + " " + word);
      if (word == "WAIT") waiting = wire;
      if (word == "ASKING") wire->reply("+OK\r\n");
      if (word == "WRITE") wire->reply(wire->owner() == "old" ? of_old : of_new);
      if (word == "WRITE" && of_old.rfind("-N", 0) == 0) of_old = ":1\r\n";
    }
  }
  void have(int replicas) const { waiting->reply(":" + std::to_string(replicas) + "\r\n"); }

  std::string of_old = ":1\r\n";
  std::string of_new = ":1\r\n";
  std::shared_ptr<simulation::Wire> waiting;  // the last one that WAIT came over
  Strings got;
};

class Two final : public topology::Topology {
 public:
  std::shared_ptr<Connection> route(std::string_view, topology::Traffic) override { return owner; }
  void subscribe(const std::string&) override {}
  void release(const std::string&, Duration) override {}
  std::shared_ptr<client::Subscriber> subscriber(const std::string&) override { return nullptr; }
  std::string_view publish_command() const override { return "publish"; }
  std::string text() const override { return "two servers"; }
  void close(const Status&) override {}

  std::shared_ptr<Connection> owner;
};

class ReplicaAcknowledgerTest : public ::testing::Test {
 protected:
  ReplicaAcknowledgerTest() {
    network.weather.slow_per_mille = 0;
    Connection::Setup setup = setup_of("old");
    setup.neighbours.mine = [](const client::Request&) { return true; };
    setup.neighbours.hand_over = [this](InFlightRequest unanswered, bool) {
      topology->owner = fresh;
      return fresh->resubmit(std::move(unanswered));
    };
    setup.redirect = [this](const InFlightRequest& unanswered, std::string_view error) {
      follow(unanswered, error.substr(0, 3) == "ASK");
      return true;
    };
    old = std::make_shared<Connection>(world, loop, setup);
    fresh = std::make_shared<Connection>(world, loop, setup_of("new"));
    topology->owner = old;
    acknowledger =
        std::make_shared<ReplicaAcknowledger>(world, topology, ReplicationPolicy{1, Millis(5000)});
  }
  ~ReplicaAcknowledgerTest() override {
    for (const auto& connection : {old, fresh}) connection->close(Status::closed("over"));
    loop.run(Millis(10));
    loop.stop();
  }

  Connection::Setup setup_of(const std::string& server) {
    Connection::Setup setup;
    setup.driver = Connection::Driver::kLoop;
    setup.open = [this, server](const client::StreamOptions&) { return network.open(server); };
    return setup;
  }
  // As the cluster does.
  void follow(const InFlightRequest& unanswered, bool asking) {
    if (!asking) topology->owner = fresh;
    EXPECT_TRUE(fresh->resubmit({unanswered.request, unanswered.sent, asking}).ok());
    const client::RequestPtr follow_up = asking ? unanswered.request->follow_up() : nullptr;
    EXPECT_TRUE(!follow_up || fresh->resubmit({follow_up}).ok());
  }

  Strings confirm() {
    const auto confirmed = [this](const Acknowledgement& outcome) {
      using Kind = Acknowledgement::Kind;
      ends.emplace_back(outcome.kind == Kind::kConfirmed ? "confirmed"
                        : outcome.kind == Kind::kRefused ? "refused"
                                                         : "failed");
    };
    EXPECT_TRUE(
        acknowledger->confirm({LockName("k"), &recipe(), "owner", Millis(30000), kNever}, confirmed)
            .ok());
    return got();
  }
  Strings have(int replicas) {
    servers.have(replicas);
    return got();
  }
  // What the servers have got by now, since the last time.
  Strings got() {
    loop.run(Millis(20));
    return std::exchange(servers.got, {});
  }

  simulation::World world{1};
  Servers servers;
  simulation::Network network{world, servers};
  simulation::SteppedLoop loop{world, network};
  std::shared_ptr<Connection> old;
  std::shared_ptr<Connection> fresh;
  const std::shared_ptr<Two> topology = std::make_shared<Two>();
  std::shared_ptr<ReplicaAcknowledger> acknowledger;
  Strings ends;  // what the grant's owner gets
};

TEST_F(ReplicaAcknowledgerTest, AWaitBehindTheWriteIsBelieved) {
  EXPECT_EQ(confirm(), (Strings{"old WRITE", "old WAIT"}));
  EXPECT_TRUE(ends.empty());
  EXPECT_TRUE(have(1).empty());
  EXPECT_EQ(ends, Strings{"confirmed"});
}

TEST_F(ReplicaAcknowledgerTest, AWaitInFrontOfTheScriptsTextSaysNothingOfIt) {
  servers.of_old = "-NOSCRIPT No matching script.\r\n";
  EXPECT_EQ(confirm(), (Strings{"old WRITE", "old WAIT", "old WRITE", "old WAIT"}));
  servers.waiting->reply(":1\r\n");
  EXPECT_TRUE(got().empty());
  EXPECT_TRUE(ends.empty());
  EXPECT_TRUE(have(1).empty());
  EXPECT_EQ(ends, Strings{"confirmed"});
}

TEST_F(ReplicaAcknowledgerTest, TheOldServersReplicasSayNothingOfWhatTheNewOneWrote) {
  servers.of_old = "-MOVED 1 h:1\r\n";
  EXPECT_EQ(confirm(), (Strings{"old WRITE", "old WAIT", "new WRITE"}));
  EXPECT_EQ(have(1), (Strings{"new WRITE", "new WAIT"}));
  EXPECT_TRUE(ends.empty());
  have(0);
  EXPECT_EQ(ends, Strings{"refused"});
}

TEST_F(ReplicaAcknowledgerTest, AWriteThatIsSentOnForThisOnceTakesAWaitAlong) {
  servers.of_old = "-ASK 1 h:1\r\n";
  EXPECT_EQ(confirm(), (Strings{"old WRITE", "old WAIT", "new ASKING", "new WRITE", "new WAIT"}));
  EXPECT_TRUE(have(1).empty());
  EXPECT_EQ(ends, Strings{"confirmed"});
}

TEST_F(ReplicaAcknowledgerTest, TheRoundsOwnWaitDoesNotSpeakForAWriteThatWasSentOn) {
  servers.of_old = "-ASK 1 h:1\r\n";
  confirm();
  const auto at_new = std::exchange(servers.waiting, network.wires().front());
  EXPECT_TRUE(have(1).empty());
  EXPECT_TRUE(ends.empty());
  servers.waiting = at_new;
  have(0);
  EXPECT_EQ(ends, Strings{"refused"});
}

// It has no WAIT behind it: the next attempt would take the second end for its own.
TEST_F(ReplicaAcknowledgerTest, AWriteThatWasSentAgainHasNoEndWhenItsScriptIsUnknown) {
  servers.of_old = "-MOVED 1 h:1\r\n";
  servers.of_new = "";
  EXPECT_EQ(confirm(), (Strings{"old WRITE", "old WAIT", "new WRITE"}));
  EXPECT_EQ(have(1), (Strings{"new WRITE", "new WAIT"}));
  servers.waiting->reply("-NOSCRIPT No matching script.\r\n");
  EXPECT_EQ(got(), Strings{"new WRITE"});
  EXPECT_TRUE(ends.empty());
  for (const char* reply : {":1\r\n", ":1\r\n", ":1\r\n"}) servers.waiting->reply(reply);
  EXPECT_TRUE(got().empty());
  EXPECT_EQ(ends, Strings{"confirmed"});
}

TEST_F(ReplicaAcknowledgerTest, ARoundThatIsHandedOverAsAWholeCountsThere) {
  servers.of_old = "";
  EXPECT_EQ(confirm(), (Strings{"old WRITE", "old WAIT"}));
  old->decommission();
  EXPECT_EQ(got(), (Strings{"new WRITE", "new WAIT"}));
  EXPECT_TRUE(have(1).empty());
  EXPECT_EQ(ends, Strings{"confirmed"});
}

TEST_F(ReplicaAcknowledgerTest, AWaitThatIsHandedOverWithoutItsWriteSaysNothing) {
  EXPECT_EQ(confirm(), (Strings{"old WRITE", "old WAIT"}));
  old->decommission();
  EXPECT_EQ(got(), Strings{"new WAIT"});
  EXPECT_EQ(have(1), (Strings{"new WRITE", "new WAIT"}));
  EXPECT_TRUE(ends.empty());
  have(0);
  EXPECT_EQ(ends, Strings{"refused"});
}

}  // namespace
}  // namespace holdfast::sync
