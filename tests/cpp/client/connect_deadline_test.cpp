// Callers that wait for a server which refuses connections, each for its own time.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

#include "client/connection_fixture.h"

namespace holdfast::client {
namespace {

TEST_F(ConnectionTest, ARefusedConnectionIsAnAnswerOncePatienceIsOver) {
  peer.accepts = false;
  options.retries = 1000;
  ask("patient");
  loop.run(Millis(200));
  ask_impatiently("a", Millis(100));
  loop.run(Millis(99));
  EXPECT_EQ(log, Strings{});
  loop.run(Millis(5));
  EXPECT_EQ(log, Strings{"a failed"});
  peer.accepts = true;
  loop.run(Millis(1100));
  EXPECT_EQ(log, (Strings{"a failed", "patient = patient"}));
}

TEST_F(ConnectionTest, TheLastMomentOfPatienceIsUsedForAnAttempt) {
  peer.accepts = false;
  options.retries = 1000;
  ask("patient");
  loop.run(Millis(5000));  // the rests are half a second long now, or longer
  const std::size_t attempts = network.wires().size();
  while (network.wires().size() == attempts) loop.run(Millis(1));
  peer.accepts = true;
  loop.run(Millis(10));
  ask_impatiently("a", Millis(100));
  loop.run(Millis(130));
  EXPECT_EQ(log, (Strings{"patient = patient", "a = a"}));
}

TEST_F(ConnectionTest, TheImpatientCostNoOthersTheirRetries) {
  peer.accepts = false;
  options.retries = 7;  // more than a second
  ask("patient");
  for (int i = 0; i < 40; ++i) {
    ask_impatiently("a", Millis(5));
    loop.run(Millis(10));
  }
  EXPECT_EQ(log.size(), 40U);
  EXPECT_EQ(std::count(log.begin(), log.end(), "patient failed"), 0);
}

TEST_F(ConnectionTest, OnlyARefusedConnectionEndsPatience) {
  connect();
  silent();
  ask_impatiently("a", Millis(50));
  loop.run(Millis(400));
  EXPECT_EQ(log, Strings{});
  answering();
  peer.latest->cut(true);
  loop.run(Millis(100));
  EXPECT_EQ(log, Strings{"a = a"});
}

}  // namespace
}  // namespace holdfast::client
