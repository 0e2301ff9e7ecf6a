// Requests that come while the network is away, and when it is back.

#include <gtest/gtest.h>

#include "redis/client/connection_fixture.h"

namespace holdfast::client {
namespace {

// A renewal keeps the connection trying past the retries; then a request comes, while an attempt is
// under way that began before the network was back.
TEST_F(ConnectionTest, TheFirstRequestAfterTheReturnOutlivesAnAttemptFromBefore) {
  connect();
  peer.accepts = false;
  peer.latest->cut(false);
  ask("renewal", kNever, true);
  loop.run(Millis(5000));
  const std::size_t attempts = network.wires().size();
  ASSERT_GT(attempts, static_cast<std::size_t>(options.retries) + 1);
  while (network.wires().size() == attempts) loop.run(Millis(1));
  ask("first", world.now() + kTimeout);
  peer.accepts = true;
  network.wires().back()->cut(false);
  loop.run(kTimeout);
  EXPECT_EQ(log, (Strings{"renewal = renewal", "first = first"}));
}

TEST_F(ConnectionTest, EachRequestHasItsOwnRetries) {
  peer.accepts = false;
  ask("renewal", kNever, true);
  loop.run(Millis(5000));
  const std::size_t before = network.wires().size();
  ask("a");
  while (log.empty()) loop.run(Millis(1));
  EXPECT_EQ(log, Strings{"a failed"});
  EXPECT_EQ(network.wires().size() - before, static_cast<std::size_t>(options.retries) + 1);
}

TEST_F(ConnectionTest, ARequestThatComesInARowOfFailuresKeepsItsRetriesAfterAReply) {
  peer.accepts = false;
  ask("renewal", kNever, true);
  loop.run(Millis(3000));
  peer.accepts = true;
  ask("a");
  loop.run(Millis(1100));
  ASSERT_EQ(log, (Strings{"renewal = renewal", "a = a"}));
  peer.accepts = false;
  peer.latest->cut(false);
  const std::size_t before = network.wires().size();
  const auto request = ask("b");
  while (log.size() == 2) loop.run(Millis(1));
  EXPECT_EQ(request->why.code(), Code::kUnreachable);
  EXPECT_GE(network.wires().size() - before, static_cast<std::size_t>(options.retries));
}

}  // namespace
}  // namespace holdfast::client
