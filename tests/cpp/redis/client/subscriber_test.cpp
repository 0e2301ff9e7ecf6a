#include "redis/client/subscriber.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "support/scripted_peer.h"
#include "support/world.h"

namespace holdfast::client {
namespace {

using Strings = std::vector<std::string>;

constexpr Millis kTimeout{1000};

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

class Listener final : public Subscriber::Sink {
 public:
  void on_subscribed(const std::string& channel, TimePoint requested, bool fresh) override {
    notified.push_back((fresh ? "on " : "caught up on ") + channel);
    newer_than = requested;
  }
  void on_message(const std::string& channel, std::string_view payload) override {
    notified.push_back(channel + ": " + std::string(payload));
  }
  void on_refused(const std::string& channel, const Status& why) override {
    notified.push_back("refused " + channel + " " + why.word());
  }
  void on_unreachable(const std::set<std::string>&, const Status&) override {
    notified.emplace_back("unreachable");
  }
  bool on_released(const std::string& channel) override {
    notified.push_back("released " + channel);
    return unused;
  }
  void on_lost() override { notified.emplace_back("lost"); }

  bool unused = true;
  Strings notified;
  TimePoint newer_than{};
};

class SubscriberTest : public ::testing::Test {
 protected:
  SubscriberTest() {
    network.weather.slow_per_mille = 0;
    StreamOptions options;
    options.command_timeout = options.connect_timeout = kTimeout;
    options.retries = 3;
    subscriber = std::make_shared<Subscriber>(
        world, loop, options, listener,
        [this](const StreamOptions&) { return network.open("client"); });
    confirming();
  }
  ~SubscriberTest() override {
    subscriber->close();
    loop.run(Millis(10));
    loop.stop();
  }

  void confirming() {
    peer.answer = [](const std::string& words) {
      const std::size_t space = words.find(' ');
      const std::string kind = words[0] == 'S' ? "subscribe" : "unsubscribe";
      return "*3\r\n" + bulk(kind) + bulk(words.substr(space + 1)) + ":1\r\n";
    };
  }
  void message(const std::string& channel, const std::string& payload) {
    peer.latest->reply("*3\r\n" + bulk("message") + bulk(channel) + bulk(payload));
  }
  void subscribe(const std::string& channel) {
    subscriber->subscribe(channel);
    loop.run(Millis(20));
  }
  Strings received() { return std::exchange(listener->notified, {}); }
  Strings got() { return std::exchange(peer.got, {}); }

  simulation::World world{1};
  simulation::ScriptedPeer peer;
  simulation::Network network{world, peer};
  simulation::SteppedLoop loop{world, network};
  const std::shared_ptr<Listener> listener = std::make_shared<Listener>();
  std::shared_ptr<Subscriber> subscriber;
};

TEST_F(SubscriberTest, ConnectsWithTheFirstChannel) {
  loop.run(Millis(100));
  EXPECT_TRUE(network.wires().empty());
  subscribe("a");
  EXPECT_EQ(received(), Strings{"on a"});
  EXPECT_EQ(got(), Strings{"SUBSCRIBE a"});
}

TEST_F(SubscriberTest, ASlotThatMovesAsItsChannelIsLeftDoesNotEndTheStream) {
  subscriber->set_mode(PubSub::kSharded);
  peer.answer = [](const std::string& words) {
    const std::string channel = words.substr(words.find(' ') + 1);
    if (words[1] == 'S') return "*3\r\n" + bulk("ssubscribe") + bulk(channel) + ":1\r\n";
    return "*3\r\n" + bulk("sunsubscribe") + bulk(channel) + ":0\r\n-MOVED 1 elsewhere:6379\r\n";
  };
  subscribe("a");
  subscribe("b");
  subscriber->drop("a");
  loop.run(Millis(20));
  subscribe("c");
  EXPECT_EQ(received(), (Strings{"on a", "on b", "on c"}));
  EXPECT_EQ(network.wires().size(), 1U);
}

TEST_F(SubscriberTest, AServerThatIsBusyIsAskedAgain) {
  int refusals = 3;
  const auto confirm = peer.answer;
  peer.answer = [&](const std::string& words) {
    return refusals-- > 0 ? "-BUSY a script is running\r\n" : confirm(words);
  };
  subscribe("a");
  EXPECT_EQ(received(), Strings{});
  loop.run(Millis(300));
  EXPECT_EQ(received(), Strings{"on a"});
}

TEST_F(SubscriberTest, AServerThatStaysBusyRefusesAfterTheCommandTimeout) {
  peer.answer = [](const std::string&) { return std::string("-BUSY a script is running\r\n"); };
  subscribe("a");
  loop.run(Millis(10'000));
  const Strings notified = received();
  ASSERT_EQ(notified.size(), 1U);
  EXPECT_NE(notified[0].find("BUSY"), std::string::npos);
}

TEST_F(SubscriberTest, AllChannelsShareOneStream) {
  subscribe("a");
  subscribe("b");
  EXPECT_EQ(network.wires().size(), 1U);
  EXPECT_EQ(received(), (Strings{"on a", "on b"}));
}

TEST_F(SubscriberTest, MessagesReachTheSink) {
  subscribe("a");
  message("a", "0");
  loop.run(Millis(10));
  EXPECT_EQ(received(), (Strings{"on a", "a: 0"}));
}

TEST_F(SubscriberTest, SubscribedAgainItSaysWhatIsOlder) {
  subscribe("a");
  loop.run(Millis(100));
  const TimePoint second = world.now();
  EXPECT_LT(listener->newer_than, second);
  subscribe("a");
  EXPECT_GE(listener->newer_than, second);
  EXPECT_EQ(received(), (Strings{"on a", "caught up on a"}));
  EXPECT_EQ(got(), (Strings{"SUBSCRIBE a", "SUBSCRIBE a"}));
  peer.latest->cut(false);
  loop.run(Millis(500));
  EXPECT_EQ(received(), (Strings{"lost", "on a"}));
}

TEST_F(SubscriberTest, AnAnswerFromBeforeTheEndSaysNothingOfTheNextSubscription) {
  subscribe("a");
  EXPECT_EQ(received(), Strings{"on a"});
  subscriber->subscribe("a");
  while (loop.step_one()) continue;
  subscriber->release("a", Duration::zero());
  while (loop.step_one()) continue;
  subscriber->subscribe("a");
  loop.run(Millis(20));
  const Strings notified = received();
  EXPECT_EQ(notified.back(), "on a");
  EXPECT_EQ(std::count(notified.begin(), notified.end(), "caught up on a"), 0);
}

TEST_F(SubscriberTest, AfterABreakItSubscribesToAllChannelsAgain) {
  subscribe("a");
  subscribe("b");
  (void)received();
  (void)got();
  peer.latest->cut(false);
  loop.run(Millis(50));
  EXPECT_EQ(received(), (Strings{"lost", "on a", "on b"}));
  EXPECT_EQ(got(), (Strings{"SUBSCRIBE a", "SUBSCRIBE b"}));
}

TEST_F(SubscriberTest, AChannelNotNeededAnyMoreIsLeftAfterItsLinger) {
  subscribe("a");
  (void)received();
  (void)got();
  subscriber->release("a", Millis(100));
  loop.run(Millis(99));
  EXPECT_EQ(received(), Strings{});
  loop.run(Millis(10));
  EXPECT_EQ(received(), Strings{"released a"});
  EXPECT_EQ(got(), Strings{"UNSUBSCRIBE a"});
}

TEST_F(SubscriberTest, WhoComesAndLeavesWithinOneStepLeavesNoSubscription) {
  subscribe("a");
  (void)got();
  subscriber->subscribe("b");
  subscriber->release("b", Duration::zero());
  loop.run(Millis(20));
  EXPECT_EQ(got(), (Strings{"SUBSCRIBE b", "UNSUBSCRIBE b"}));
}

TEST_F(SubscriberTest, WithinOneStepTheLatestWishForAChannelCounts) {
  subscriber->subscribe("a");
  subscriber->drop("a");
  subscribe("b");
  EXPECT_EQ(got(), Strings{"SUBSCRIBE b"});
  subscriber->drop("b");
  subscriber->subscribe("b");
  loop.run(Millis(20));
  EXPECT_EQ(got(), (Strings{"UNSUBSCRIBE b", "SUBSCRIBE b"}));
}

TEST_F(SubscriberTest, AChannelNeededAgainIsKept) {
  subscribe("a");
  (void)got();
  listener->unused = false;
  subscriber->release("a", Millis(100));
  loop.run(Millis(200));
  EXPECT_EQ(got(), Strings{});
}

TEST_F(SubscriberTest, ARenewedInterestAfterTheEndSubscribesAgain) {
  subscribe("a");
  subscriber->release("a", Millis(0));
  loop.run(Millis(20));
  (void)received();
  (void)got();
  subscribe("a");
  EXPECT_EQ(got(), Strings{"SUBSCRIBE a"});
  EXPECT_EQ(received(), Strings{"on a"});
}

TEST_F(SubscriberTest, ARefusedChannelIsReportedAndForgotten) {
  peer.answer = [](const std::string&) { return std::string("-NOPERM no\r\n"); };
  subscribe("a");
  EXPECT_EQ(received(), Strings{"refused a NOPERM"});
  (void)got();
  confirming();
  peer.latest->cut(false);
  loop.run(Millis(50));
  EXPECT_EQ(got(), Strings{});
}

TEST_F(SubscriberTest, WhoMayNotLeaveAChannelMayComeBackToIt) {
  subscribe("a");
  peer.answer = [confirm = peer.answer](const std::string& words) {
    return words[0] == 'U' ? std::string("-NOPERM no\r\n") : confirm(words);
  };
  (void)received();
  subscriber->release("a", Duration::zero());
  while (loop.step_one()) continue;
  subscriber->subscribe("a");
  loop.run(Millis(20));
  EXPECT_EQ(received(), (Strings{"released a", "on a"}));
}

TEST_F(SubscriberTest, AStreamThatFallsSilentIsLeftForANewOne) {
  subscribe("a");
  (void)received();
  peer.answer = [](const std::string&) { return std::string(); };
  subscribe("b");
  confirming();
  loop.run(kTimeout + Millis(50));
  EXPECT_EQ(received(), (Strings{"lost", "on a", "on b"}));
}

TEST_F(SubscriberTest, WhereTheNewOneIsSilentTooTheWaitersFailAfterTheTimeOut) {
  subscribe("a");
  (void)received();
  peer.answer = [](const std::string&) { return std::string(); };
  peer.latest->cut(false);
  loop.run(kTimeout + Millis(100));
  const Strings notified = received();
  EXPECT_EQ(std::count(notified.begin(), notified.end(), "unreachable"), 1);
  confirming();
  loop.run(2 * kTimeout);
  EXPECT_EQ(received().back(), "on a");
}

TEST_F(SubscriberTest, TheTimeWithoutAnswersBeginsAnewWithTheNextChannel) {
  peer.answer = [](const std::string&) { return std::string(); };
  subscribe("a");
  subscriber->drop("a");
  loop.run(kTimeout - Millis(100));
  subscribe("b");
  confirming();
  loop.run(Millis(200));
  EXPECT_EQ(received(), (Strings{"lost", "on b"}));
}

TEST_F(SubscriberTest, SilenceWithoutAQuestionIsNone) {
  subscribe("a");
  (void)received();
  loop.run(10 * kTimeout);
  EXPECT_EQ(received(), Strings{});
}

TEST_F(SubscriberTest, WithoutAServerTheWaitersFailAfterTheRetries) {
  peer.accepts = false;
  subscriber->subscribe("a");
  loop.run(Millis(500));
  EXPECT_EQ(received().front(), "unreachable");
  peer.accepts = true;
  loop.run(Millis(1100));
  EXPECT_EQ(received().back(), "on a");
}

TEST_F(SubscriberTest, MessagesInPiecesArriveWhole) {
  network.weather.partial_per_mille = 900;
  subscribe("a");
  loop.run(Millis(100));
  (void)received();
  for (int i = 0; i < 50; ++i) message("a", std::to_string(i));
  loop.run(Millis(500));
  const Strings notified = received();
  ASSERT_EQ(notified.size(), 50U);
  EXPECT_EQ(notified.back(), "a: 49");
}

TEST_F(SubscriberTest, ClosedItEndsItsStream) {
  subscribe("a");
  (void)received();
  subscriber->close();
  loop.run(Millis(20));
  EXPECT_TRUE(network.open_wires().empty());
  EXPECT_EQ(received(), Strings{});
}

TEST_F(SubscriberTest, AThreadThatReadsAfterTheCloseDoesNotConnectAgain) {
  SubscriptionStream stream(world, {},
                            [this](const StreamOptions&) { return network.open("own"); });
  stream.subscribe("a");
  const auto advance = [&] {
    for (int i = 0; i < 20; ++i) {
      stream.advance(world.now(), *listener);
      loop.run(Millis(1));
    }
  };
  advance();
  EXPECT_EQ(received(), Strings{"on a"});
  stream.close();
  advance();
  EXPECT_TRUE(network.open_wires().empty());
  EXPECT_EQ(network.wires().size(), 1U);
}

TEST_F(SubscriberTest, AReleaseWhileTheServerIsAwayLeavesNoWorkBehind) {
  subscribe("a");
  subscribe("b");
  peer.accepts = false;
  peer.latest->cut(false);
  loop.run(Millis(5));
  subscriber->release("a", Millis(0));
  subscriber->release("b", Millis(5000));
  loop.run(Millis(6000));
  const std::size_t wires = network.wires().size();
  loop.run(Millis(5000));
  EXPECT_EQ(network.wires().size(), wires);
}

TEST_F(SubscriberTest, ALingerIsThatOfTheNewestRelease) {
  subscribe("a");
  received();
  subscriber->release("a", Millis(100));
  loop.run(Millis(60));
  subscriber->release("a", Millis(100));
  loop.run(Millis(60));
  EXPECT_EQ(received(), Strings{});
  loop.run(Millis(60));
  EXPECT_EQ(received(), Strings{"released a"});
}

TEST_F(SubscriberTest, EachLingerIsOverAtItsMomentOneAfterTheOther) {
  listener->unused = false;
  subscribe("a");
  received();
  for (int i = 0; i < 3; ++i) {
    subscriber->release("a", Millis(100));
    loop.run(Millis(150));
    EXPECT_EQ(received(), Strings{"released a"}) << i;
  }
}

TEST_F(SubscriberTest, ALingerDoesNotWakeALoopThatSleeps) {
  subscribe("a");
  subscriber->release("a", Millis(100));
  EXPECT_FALSE(loop.ready());
  subscriber->release("b", Millis(50));
  EXPECT_FALSE(loop.ready());
  loop.run(Millis(60));
  EXPECT_EQ(received(), (Strings{"on a"}));
  loop.run(Millis(60));
  EXPECT_EQ(received(), (Strings{"released a"}));
}

}  // namespace
}  // namespace holdfast::client
