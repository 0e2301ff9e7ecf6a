// What a connection does for commands that may go by another one, and a server that is full.

#include <gtest/gtest.h>

#include "redis/client/connection_fixture.h"

namespace holdfast::client {
namespace {

constexpr const char* kFull = "-ERR max number of clients reached\r\n";

TEST_F(ConnectionTest, AnImpatientRequestFailsWithTheFirstAttemptToConnect) {
  peer.accepts = false;
  options.retries = 1000;
  ask("patient");
  loop.run(Millis(200));
  const auto request = std::make_shared<SampleRequest>("a", log);
  request->impatient = true;
  submitted = connection->submit(request);
  EXPECT_TRUE(connection->down());
  loop.run(Millis(1100));
  EXPECT_EQ(log, Strings{"a failed"});
}

TEST_F(ConnectionTest, AStreamThatBreaksIsNotDownBeforeAnAttemptHasFailed) {
  connect();
  EXPECT_TRUE(connection->open());
  silent();
  ask("a");
  loop.run(Millis(5));
  answering();
  peer.latest->cut(true);
  loop.run(Millis(50));
  EXPECT_EQ(log, Strings{"a = a"});
  EXPECT_TRUE(connection->open());
  EXPECT_FALSE(connection->down());
}

TEST_F(ConnectionTest, ItConnectsAgainForRequestsThatWentAnotherWay) {
  peer.accepts = false;
  const auto request = std::make_shared<SampleRequest>("a", log);
  open();
  request->impatient = true;
  submitted = connection->submit(request);
  loop.run(Millis(20));
  EXPECT_EQ(log, Strings{"a failed"});
  EXPECT_TRUE(connection->down());
  connection->reconnect(world.now() + Millis(10'000));
  loop.run(Millis(1000));
  const std::size_t attempts = network.wires().size();
  EXPECT_GE(attempts, 5U);
  loop.run(Millis(4000));
  EXPECT_LE(network.wires().size(), attempts + 9) << "half a second apart at least";
  peer.accepts = true;
  loop.run(Millis(1100));
  EXPECT_TRUE(connection->open());
  EXPECT_FALSE(connection->down());
}

TEST_F(ConnectionTest, ItConnectsNoLongerThanItIsWanted) {
  peer.accepts = false;
  open();
  connection->reconnect(world.now() + Millis(100));
  loop.run(Millis(200));
  const std::size_t attempts = network.wires().size();
  loop.run(Millis(5000));
  EXPECT_EQ(network.wires().size(), attempts);
}

TEST_F(ConnectionTest, AServerThatIsFullHasNotAnsweredTheCommand) {
  peer.answer = [](const std::string&) { return std::string(kFull); };
  options.retries = 1000;
  submit_until("a", Millis(100));
  loop.run(Millis(110));
  EXPECT_EQ(log, Strings{"a failed"});
  answering();
  ask("b");
  loop.run(Millis(1100));
  EXPECT_EQ(log, (Strings{"a failed", "b = b"}));
}

TEST_F(ConnectionTest, AFullServerIsOutOfReachInItsOwnWords) {
  peer.answer = [](const std::string&) { return std::string(kFull); };
  options.retries = 0;
  const auto request = ask("a");
  loop.run(Millis(50));
  EXPECT_EQ(request->why.code(), Code::kUnreachable);
  EXPECT_NE(request->why.message().find("max number of clients reached"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::client
