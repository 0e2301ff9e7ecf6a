// Callers that wait for a server which refuses connections, each for its own time.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

#include "redis/client/connection_fixture.h"

namespace holdfast::client {
namespace {

TEST_F(ConnectionTest, ARefusedConnectionIsAFailureAfterTheConnectDeadline) {
  peer.accepts = false;
  options.retries = 1000;
  ask("long");
  loop.run(Millis(200));
  submit_until("a", Millis(100));
  loop.run(Millis(99));
  EXPECT_EQ(log, Strings{});
  loop.run(Millis(5));
  EXPECT_EQ(log, Strings{"a failed"});
  peer.accepts = true;
  loop.run(Millis(1100));
  EXPECT_EQ(log, (Strings{"a failed", "long = long"}));
}

TEST_F(ConnectionTest, TheLastMomentBeforeTheConnectDeadlineIsUsedForAnAttempt) {
  peer.accepts = false;
  options.retries = 1000;
  ask("long");
  loop.run(Millis(5000));  // the pauses are half a second long now, or longer
  const std::size_t attempts = network.wires().size();
  while (network.wires().size() == attempts) loop.run(Millis(1));
  peer.accepts = true;
  loop.run(Millis(10));
  submit_until("a", Millis(100));
  loop.run(Millis(130));
  EXPECT_EQ(log, (Strings{"long = long", "a = a"}));
}

TEST_F(ConnectionTest, AShortConnectDeadlineCostsNoOthersTheirRetries) {
  peer.accepts = false;
  options.retries = 7;  // more than a second
  ask("long");
  for (int i = 0; i < 40; ++i) {
    submit_until("a", Millis(5));
    loop.run(Millis(10));
  }
  EXPECT_EQ(log.size(), 40U);
  EXPECT_EQ(std::count(log.begin(), log.end(), "long failed"), 0);
}

TEST_F(ConnectionTest, OnlyARefusedConnectionMeetsTheConnectDeadline) {
  connect();
  silent();
  submit_until("a", Millis(50));
  loop.run(Millis(400));
  EXPECT_EQ(log, Strings{});
  answering();
  peer.latest->cut(true);
  loop.run(Millis(100));
  EXPECT_EQ(log, Strings{"a = a"});
}

}  // namespace
}  // namespace holdfast::client
