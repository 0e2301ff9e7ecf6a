// The in-memory server says and does what a real one does with the same scripts.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "net/socket_transport.h"
#include "net/support.h"
#include "support/real_server.h"
#include "support/server.h"
#include "sync/lock.h"

namespace holdfast::simulation {
namespace {

constexpr int kSteps = 3000;

class DoubleTest : public ::testing::Test {
 protected:
  // Both servers get the same bytes; the real one's time runs by itself, the double's follows it.
  std::string ask_double(const std::string& bytes) {
    world_.advance_to(start_ + (std::chrono::steady_clock::now() - real_start_));
    CommandParser parser;
    std::vector<Command> commands;
    parser.feed(bytes, commands);
    return double_.execute(commands.at(0));
  }

  static std::string ask(net::Transport& real, const std::string& bytes) {
    (void)net::write_all(real, bytes);
    std::string reply = net::read_exactly(real, 1);
    while (reply.size() < 2 || reply.substr(reply.size() - 2) != "\r\n") {
      reply += net::read_exactly(real, 1);
    }
    if (reply[0] == '$' && reply != "$-1\r\n") {
      reply += net::read_exactly(real, static_cast<std::size_t>(std::stoi(reply.substr(1))) + 2);
    }
    return reply;
  }

  std::string random_step() {
    const LockName name("lock" + std::to_string(random_.below(2)));
    const std::string owner = "me:" + std::to_string(random_.below(3));
    const std::string heir = "me:" + std::to_string(3 + random_.below(2));
    const sync::Step step{name, owner, static_cast<int>(random_.below(3)), kLease, "publish", true};
    const sync::Recipe& recipe = sync::lock_recipe();
    std::string bytes;
    switch (random_.below(10)) {
      case 0:
      case 1:
        recipe.acquire(bytes, {name, owner, 1 + step.count / 2, kLease, "publish", true});
        break;
      case 2:
      case 3:
        recipe.release(bytes, step);
        break;
      case 4:
        recipe.transfer(bytes, step, heir);
        break;
      case 5:
        recipe.renew(bytes, name, owner, kLease, true);
        break;
      case 6:
        recipe.force_release(bytes, step);
        break;
      case 7:
        recipe.extend(bytes, {name, owner, 0, kLease / 2, "publish", true});
        break;
      case 8:
        recipe.check(bytes, name, owner);
        break;
      default:
        recipe.hold_count(bytes, step);
    }
    return bytes;
  }

  // Long, so that nothing expires and only the last digits of a remaining time may differ.
  static constexpr Millis kLease{100000};

  Random random_{7};
  World world_{1};
  Server double_{world_, 0};
  const TimePoint start_ = world_.now();
  const std::chrono::steady_clock::time_point real_start_ = std::chrono::steady_clock::now();
};

TEST_F(DoubleTest, AnswersAsARealServerDoes) {
  if (!net::RealServer::installed()) GTEST_SKIP() << "no redis-server or valkey-server on PATH";
  const net::RealServer server;
  net::SocketTransport real(server.address(), Millis(5000));
  ASSERT_EQ(net::connect(real).io, net::Io::kDone);
  int held = 0;
  for (int i = 0; i < kSteps; ++i) {
    const std::string bytes = random_step();
    const std::string expected = ask(real, bytes);
    const std::string got = ask_double(bytes);
    const std::int64_t left = expected[0] == ':' ? std::stoll(expected.substr(1)) : 0;
    if (left > 1000) {
      ++held;
      EXPECT_NEAR(static_cast<double>(left), std::stod(got.substr(1)), 5000) << bytes;
    } else {
      ASSERT_EQ(got, expected) << "step " << i << ": " << bytes;
    }
  }
  EXPECT_GT(held, kSteps / 50);
}

}  // namespace
}  // namespace holdfast::simulation
