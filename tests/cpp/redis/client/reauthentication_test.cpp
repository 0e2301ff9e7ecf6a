#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "redis/client/connection.h"
#include "redis/client/subscriber.h"
#include "support/scripted_peer.h"
#include "support/world.h"

namespace holdfast::client {
namespace {

using Strings = std::vector<std::string>;

class Listener final : public Subscriber::Sink {
 public:
  void on_subscribed(const std::string& channel, TimePoint, bool) override {
    all.push_back(channel);
  }
  void on_message(const std::string& channel, std::string_view payload) override {
    all.push_back(channel + ": " + std::string(payload));
  }
  void on_refused(const std::string&, const Status&) override { all.emplace_back("refused"); }
  void on_unreachable(const std::set<std::string>&, const Status&) override {
    all.emplace_back("unreachable");
  }
  bool on_released(const std::string&) override { return true; }
  void on_lost() override { all.emplace_back("lost"); }

  Strings all;
};

std::string pushed(const std::string& kind, const std::string& channel, const std::string& last) {
  const auto bulk = [](const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  };
  return "*3\r\n" + bulk(kind) + bulk(channel) + last;
}

class ReauthenticationTest : public ::testing::Test {
 protected:
  ReauthenticationTest() {
    network.weather.slow_per_mille = 0;
    peer.answer = [this](const std::string& words) -> std::string {
      if (words == "HELLO 3") return resp3 ? "*0\r\n" : "-ERR unknown command\r\n";
      if (words.substr(0, 4) == "AUTH") return auth;
      return pushed("subscribe", words.substr(10), ":1\r\n");
    };
  }
  ~ReauthenticationTest() override {
    subscriber->close();
    loop.run(Millis(10));
    loop.stop();
  }

  StreamOptions options() const {
    StreamOptions link;
    link.command_timeout = link.connect_timeout = Millis(1000);
    link.reauthenticates = true;
    return link;
  }
  void login() {
    subscriber->reauthenticate(std::make_shared<const Login>(
        Login{{"user", "new"}, [this](const Status& why) { refusals.push_back(why.word()); }}));
    loop.run(Millis(50));
  }
  void subscribe() {
    subscriber->subscribe("a");
    loop.run(Millis(50));
  }
  Strings received() { return std::exchange(listener->all, {}); }

  bool resp3 = true;
  std::string auth = "+OK\r\n";
  Strings refusals;
  simulation::World world{1};
  simulation::ScriptedPeer peer;
  simulation::Network network{world, peer};
  simulation::SteppedLoop loop{world, network};
  const std::shared_ptr<Listener> listener = std::make_shared<Listener>();
  const std::shared_ptr<Subscriber> subscriber =
      std::make_shared<Subscriber>(world, loop, options(), listener,
                                   [this](const StreamOptions&) { return network.open("client"); });
};

TEST_F(ReauthenticationTest, WithResp3TheStreamStays) {
  subscribe();
  login();
  EXPECT_EQ(network.wires().size(), 1U);
  EXPECT_EQ(peer.got.back(), "AUTH user new");
  EXPECT_EQ(received(), Strings{"a"});
  peer.latest->reply(pushed("message", "a", "$1\r\n0\r\n"));
  loop.run(Millis(10));
  EXPECT_EQ(received(), Strings{"a: 0"});
}

TEST_F(ReauthenticationTest, AServerThatRefusesKeepsTheStream) {
  auth = "-WRONGPASS invalid\r\n";
  subscribe();
  login();
  EXPECT_EQ(refusals, Strings{"WRONGPASS"});
  EXPECT_EQ(network.wires().size(), 1U);
  EXPECT_EQ(received(), Strings{"a"});
}

// AUTH is no command for a stream with subscriptions there.
TEST_F(ReauthenticationTest, WithoutResp3TheStreamStaysAsItIs) {
  resp3 = false;
  subscribe();
  login();
  EXPECT_EQ(network.wires().size(), 1U);
  EXPECT_EQ(peer.got.back(), "SUBSCRIBE a");
  EXPECT_TRUE(refusals.empty());
  EXPECT_EQ(received(), Strings{"a"});
  peer.latest->reply(pushed("message", "a", "$1\r\n0\r\n"));
  loop.run(Millis(10));
  EXPECT_EQ(received(), Strings{"a: 0"});
}

}  // namespace
}  // namespace holdfast::client
