// Messages about what was read on a connection: how they are asked for, where they are not to be
// had, and that none is taken for a reply.

#include <gtest/gtest.h>

#include <string>

#include "redis/client/connection_fixture.h"

namespace holdfast::client {
namespace {

constexpr const char* kHello = "HELLO 3";
constexpr const char* kTracking = "CLIENT TRACKING ON NOLOOP";
constexpr const char* kProto = "%1\r\n$5\r\nproto\r\n:3\r\n";

class TrackingTest : public ConnectionTest {
 protected:
  TrackingTest() {
    options.tracking = TrackingMode::kTried;
    peer.answer = [this](const std::string& words) {
      if (words == kHello) return hello;
      if (words.substr(0, 6) == "CLIENT") return tracking;
      return reply(words);
    };
  }

  static std::string reply(const std::string& words) { return "+" + words.substr(4) + "\r\n"; }
  static std::string changed(const std::string& key) {
    return ">2\r\n$10\r\ninvalidate\r\n*1\r\n$" + std::to_string(key.size()) + "\r\n" + key +
           "\r\n";
  }

  // Whether what is read on the stream is tracked.
  bool asks_tracked(const std::string& word = "word") {
    const auto request = ask(word);
    loop.run(Millis(200));
    EXPECT_EQ(request->why.message(), "");
    tracked = request->tracked;
    return tracked != Tracked::kNothing;
  }
  int said(const std::string& words) const {
    return static_cast<int>(std::count(peer.got.begin(), peer.got.end(), words));
  }
  void reconnect() {
    peer.got.clear();
    peer.latest->cut(false);
    loop.run(Millis(50));
  }

  std::string hello = kProto;
  std::string tracking = "+OK\r\n";
  Tracked tracked = Tracked::kNothing;  // by the latest answer
};

TEST_F(TrackingTest, TheGreetingAsksForMessages) {
  EXPECT_TRUE(asks_tracked());
  EXPECT_EQ(peer.got, (Strings{kHello, kTracking, "ASK word"}));
}

TEST_F(TrackingTest, WithoutTheOptionNothingIsAsked) {
  options.tracking = TrackingMode::kOff;
  EXPECT_FALSE(asks_tracked());
  EXPECT_EQ(peer.got, Strings{"ASK word"});
}

TEST_F(TrackingTest, AMessageBetweenRepliesIsNoReply) {
  ASSERT_TRUE(asks_tracked("first"));
  peer.answer = [](const std::string& words) {
    if (words == "ASK second") return std::string();
    return changed("key") + reply("ASK second") + changed("other") + reply("ASK third");
  };
  ask("second");
  ask("third");
  loop.run(Millis(50));
  EXPECT_EQ(log, (Strings{"first = first", "second = second", "third = third", "key changed",
                          "other changed"}));
}

TEST_F(TrackingTest, AMessageOnAnIdleStreamIsPassedOnAtOnce) {
  ASSERT_TRUE(asks_tracked());
  peer.latest->reply(changed("one") + changed("other"));
  loop.run(Millis(20));
  EXPECT_EQ(log, (Strings{"word = word", "one changed", "other changed"}));
  EXPECT_EQ(lost, 0);
}

TEST_F(TrackingTest, AMessageWithoutKeysMeansThatAnythingMayHaveChanged) {
  ASSERT_TRUE(asks_tracked());
  peer.latest->reply(">2\r\n$10\r\ninvalidate\r\n_\r\n");
  loop.run(Millis(20));
  EXPECT_EQ(log, (Strings{"word = word", "anything changed"}));
}

TEST_F(TrackingTest, OtherPushesAreIgnored) {
  ASSERT_TRUE(asks_tracked());
  peer.latest->reply(">2\r\n$6\r\nserver\r\n*1\r\n$4\r\nnews\r\n>0\r\n");
  loop.run(Millis(20));
  EXPECT_EQ(log, Strings{"word = word"});
  EXPECT_EQ(lost, 0);
}

TEST_F(TrackingTest, AReplyThatNoCommandAskedForStillEndsTheStream) {
  ASSERT_TRUE(asks_tracked());
  peer.latest->reply(changed("key") + "+surplus\r\n");
  loop.run(Millis(20));
  EXPECT_EQ(lost, 1);
}

TEST_F(TrackingTest, AServerWithoutItIsUsedAsBefore) {
  tracking = "-ERR unknown subcommand 'TRACKING'\r\n";
  EXPECT_FALSE(asks_tracked());
  EXPECT_EQ(lost, 0);
}

TEST_F(TrackingTest, AServerWithoutRESP3IsUsedAsBefore) {
  hello = "-NOPERM no permissions to run the 'hello' command\r\n";
  EXPECT_FALSE(asks_tracked()) << "the command was taken, but no message can come";
  EXPECT_EQ(lost, 0);
}

TEST_F(TrackingTest, AServerThatRefusesIsAskedAgainAfterAMinute) {
  tracking = "-NOPERM no permissions to run 'client|tracking'\r\n";
  EXPECT_FALSE(asks_tracked());
  reconnect();
  EXPECT_FALSE(asks_tracked());
  EXPECT_EQ(said(kHello) + said(kTracking), 0);
  loop.run(Millis(60'000));
  tracking = "+OK\r\n";
  reconnect();
  EXPECT_TRUE(asks_tracked());
}

TEST_F(TrackingTest, AServerThatHangsUpWhenItIsAskedTwiceIsUsedWithout) {
  const auto answer = peer.answer;
  peer.answer = [this, answer](const std::string& words) {
    if (words != kHello) return answer(words);
    peer.latest->cut(false);
    return std::string();
  };
  EXPECT_FALSE(asks_tracked());
  EXPECT_EQ(said(kHello), 2);
}

TEST_F(TrackingTest, AGreetingThatWasCutOffOnceDoesNotEndTheTracking) {
  const auto answer = peer.answer;
  bool first = true;
  peer.answer = [&, answer](const std::string& words) {
    if (words != kHello || !std::exchange(first, false)) return answer(words);
    peer.latest->cut(false);
    return std::string();
  };
  EXPECT_TRUE(asks_tracked());
}

TEST_F(TrackingTest, AnotherStreamIsTrackedAnew) {
  ASSERT_TRUE(asks_tracked());
  reconnect();
  EXPECT_TRUE(asks_tracked());
  EXPECT_EQ(said(kTracking), 1);
}

TEST_F(TrackingTest, WhereItIsRequiredAServerWithoutItIsRefused) {
  options.tracking = TrackingMode::kRequired;
  tracking = "-ERR unknown subcommand 'TRACKING'\r\n";
  const auto request = ask("word");
  loop.run(Millis(200));
  EXPECT_EQ(request->why.code(), Code::kServer);
  EXPECT_NE(request->why.message().find("refused the connection: ERR unknown subcommand"),
            std::string::npos);
  EXPECT_NE(request->why.message().find("tracking='require' needs HELLO 3 and CLIENT TRACKING"),
            std::string::npos);
}

TEST_F(TrackingTest, WhereItIsRequiredAServerWithoutRESP3IsRefused) {
  options.tracking = TrackingMode::kRequired;
  hello = "-ERR unknown command 'HELLO'\r\n";
  const auto request = ask("word");
  loop.run(Millis(200));
  EXPECT_EQ(request->why.code(), Code::kServer);
  EXPECT_NE(request->why.message().find("tracking='require'"), std::string::npos);
}

TEST_F(TrackingTest, WhereItIsRequiredNothingIsTrackedOnThatConnection) {
  options.tracking = TrackingMode::kRequired;
  EXPECT_FALSE(asks_tracked());
  EXPECT_EQ(peer.got, (Strings{kHello, "CLIENT TRACKING OFF", "ASK word"}));
}

}  // namespace
}  // namespace holdfast::client
