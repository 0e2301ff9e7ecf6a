#include "redis/client/connection.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "redis/client/connection_fixture.h"

namespace holdfast::client {
namespace {

TEST_F(ConnectionTest, AnswersComeInOrder) {
  Strings expected;
  for (int i = 0; i < 100; ++i) {
    ask(std::to_string(i));
    expected.push_back(std::to_string(i) + " = " + std::to_string(i));
  }
  loop.run(Millis(50));
  EXPECT_EQ(log, expected);
}

TEST_F(ConnectionTest, WritesAndReadsInPiecesKeepTheOrder) {
  network.weather.partial_per_mille = 900;
  Strings expected;
  for (int i = 0; i < 100; ++i) {
    ask(std::to_string(i));
    expected.push_back(std::to_string(i) + " = " + std::to_string(i));
    loop.run(Duration(50000));
  }
  loop.run(Millis(2000));
  EXPECT_EQ(log, expected);
}

TEST_F(ConnectionTest, AQuestionKnowsWhenItWasSent) {
  connect();
  const TimePoint before = world.now();
  const auto request = ask("a");
  loop.run(Millis(20));
  EXPECT_EQ(request->last, before);
  EXPECT_EQ(request->times, 1);
}

TEST_F(ConnectionTest, WhatIsUnansweredGoesOutAgainInOrder) {
  connect();
  silent();
  const auto first = ask("a");
  ask("b");
  loop.run(Millis(5));
  ASSERT_EQ(peer.got, (Strings{"ASK a", "ASK b"}));
  peer.latest->cut(true);
  answering();
  ask("c");
  loop.run(Millis(50));
  EXPECT_EQ(log, (Strings{"a = a", "b = b", "c = c"}));
  EXPECT_EQ(peer.got, (Strings{"ASK a", "ASK b", "ASK a", "ASK b", "ASK c"}));
  EXPECT_EQ(first->times, 2);
  EXPECT_EQ(lost, 1);
}

TEST_F(ConnectionTest, AQuestionThatIsMovedIsNotAnsweredHere) {
  connect();
  peer.answer = [](const std::string& words) {
    return words == "ASK a" ? std::string("-MOVED 7 elsewhere\r\n") : "+" + words + "\r\n";
  };
  ask("a");
  ask("b");
  loop.run(Millis(20));
  EXPECT_EQ(log, Strings{"b = ASK b"});
  ASSERT_EQ(moved.size(), 1U);
  EXPECT_EQ(moved[0].sent.times, 1);
}

TEST_F(ConnectionTest, AQuestionThatComesFromElsewhereKeepsCountOfItsWay) {
  connect();
  silent();
  const auto request = std::make_shared<SampleRequest>("a", log);
  EXPECT_TRUE(connection->resubmit({request, {{}, 3}, true}).ok());
  ask("b");
  loop.run(Millis(5));
  ASSERT_EQ(peer.got, (Strings{"ASKING", "ASK a", "ASK b"}));
  peer.latest->cut(true);
  peer.answer = [](const std::string& words) { return "+" + words + "\r\n"; };
  loop.run(Millis(50));
  EXPECT_EQ(log, (Strings{"a = ASK a", "b = ASK b"}));
  EXPECT_EQ(request->times, 5);
}

TEST_F(ConnectionTest, WhatHasLessTimeThanThoseBeforeItEndsBeforeThem) {
  connect();
  silent();
  ask("a", world.now() + kTimeout / 2);
  loop.run(Millis(5));
  ask("b", world.now() + Millis(50));
  loop.run(Millis(100));
  EXPECT_EQ(log, Strings{"b failed"});
}

TEST_F(ConnectionTest, WhatWasAbandonedBeforeItWentOutDoesNotGo) {
  open();
  const auto first = ask("a");
  ask("b");
  first->abandon();
  loop.run(Millis(20));
  EXPECT_EQ(peer.got, Strings{"ASK b"});
  EXPECT_EQ(log, Strings{"b = b"});
}

TEST_F(ConnectionTest, WhatWasAbandonedOnTheWireStillGetsItsReply) {
  connect();
  const auto first = ask("a");
  ask("b");
  loop.run(Duration(1));
  first->abandon();
  loop.run(Millis(20));
  EXPECT_EQ(log, (Strings{"a = a", "b = b"}));
}

TEST_F(ConnectionTest, WhatWasAbandonedOnTheWireDoesNotGoOutAgain) {
  connect();
  silent();
  const auto first = ask("a");
  ask("b");
  loop.run(Millis(5));
  first->abandon();
  peer.latest->cut(true);
  answering();
  loop.run(Millis(50));
  EXPECT_EQ(peer.got, (Strings{"ASK a", "ASK b", "ASK b"}));
  EXPECT_EQ(log, Strings{"b = b"});
}

TEST_F(ConnectionTest, ADeadlineEndsAQuestionAndItsReplyIsDropped) {
  connect();
  silent();
  const auto first = ask("a", world.now() + Millis(100));
  loop.run(Millis(99));
  EXPECT_EQ(log, Strings{});
  loop.run(Millis(2));
  EXPECT_EQ(log, Strings{"a failed"});
  EXPECT_EQ(first->why.code(), Code::kUnreachable);
  ask("b");
  loop.run(Millis(5));
  peer.latest->reply("+late\r\n+b\r\n");
  loop.run(Millis(20));
  EXPECT_EQ(log, (Strings{"a failed", "b = b"}));
}

TEST_F(ConnectionTest, ASilentServerIsLeftAndAskedAgain) {
  connect();
  silent();
  ask("a");
  loop.run(Millis(500));
  answering();
  loop.run(kTimeout);
  EXPECT_EQ(log, Strings{"a = a"});
  EXPECT_EQ(peer.got, (Strings{"ASK a", "ASK a"}));
  EXPECT_EQ(lost, 1);
}

TEST_F(ConnectionTest, AServerThatAnswersInTimeIsNotSilent) {
  connect();
  silent();
  for (int i = 0; i < 10; ++i) {
    ask(std::to_string(i));
    loop.run(Millis(400));
    peer.latest->reply("+" + std::to_string(i) + "\r\n");
  }
  loop.run(Millis(20));
  EXPECT_EQ(log.size(), 10U);
  EXPECT_EQ(lost, 0);
}

TEST_F(ConnectionTest, WithoutAServerTheCallersFailAfterTheRetries) {
  peer.accepts = false;
  const auto request = ask("a");
  loop.run(Millis(500));
  EXPECT_EQ(log, Strings{"a failed"});
  EXPECT_EQ(request->why.code(), Code::kUnreachable);
  EXPECT_EQ(network.wires().size(), 4U);
  EXPECT_EQ(lost, 0);
}

TEST_F(ConnectionTest, WhatIsPersistentGoesOnPastTheRetries) {
  peer.accepts = false;
  ask("a");
  ask("b", kNever, true);
  loop.run(Millis(3000));
  EXPECT_EQ(log, Strings{"a failed"});
  peer.accepts = true;
  loop.run(Millis(1100));
  EXPECT_EQ(log, (Strings{"a failed", "b = b"}));
}

TEST_F(ConnectionTest, WhatIsPersistentEndsAtItsDeadline) {
  peer.accepts = false;
  ask("a", world.now() + Millis(2000), true);
  loop.run(Millis(1999));
  EXPECT_EQ(log, Strings{});
  loop.run(Millis(2));
  EXPECT_EQ(log, Strings{"a failed"});
}

TEST_F(ConnectionTest, TheGreetingGoesFirst) {
  options.credentials = {"user", "secret"};
  options.database = 3;
  options.client_name = "me";
  ask("a");
  loop.run(Millis(50));
  EXPECT_EQ(peer.got, (Strings{"AUTH user secret", "SELECT 3", "CLIENT SETNAME me", "ASK a"}));
  EXPECT_EQ(log, Strings{"a = a"});
}

TEST_F(ConnectionTest, ARefusedGreetingFailsEverythingAtOnce) {
  options.credentials = {"", "wrong"};
  peer.answer = [](const std::string&) { return std::string("-WRONGPASS no\r\n"); };
  const auto request = ask("a");
  ask("b", kNever, true);
  loop.run(Millis(50));
  EXPECT_EQ(log, (Strings{"a failed", "b failed"}));
  EXPECT_EQ(request->why.code(), Code::kServer);
  EXPECT_EQ(request->why.word(), "WRONGPASS");
  EXPECT_EQ(request->why.message().find("wrong"), std::string::npos);
  EXPECT_EQ(network.wires().size(), 1U);
}

TEST_F(ConnectionTest, AServerThatIsStillLoadingIsGreetedAgain) {
  options.database = 3;
  int greetings = 0;
  peer.answer = [&greetings](const std::string& words) {
    if (words == "SELECT 3" && ++greetings == 1) return std::string("-LOADING wait\r\n");
    return "+" + words.substr(4) + "\r\n";
  };
  ask("a");
  loop.run(Millis(100));
  EXPECT_EQ(log, Strings{"a = a"});
  EXPECT_EQ(greetings, 2);
}

TEST_F(ConnectionTest, WhatIsSaidUnaskedIsIgnored) {
  connect();
  peer.latest->reply("-ERR I am about to close\r\n");
  loop.run(Millis(20));
  ask("a");
  loop.run(Millis(20));
  EXPECT_EQ(log, Strings{"a = a"});
}

TEST_F(ConnectionTest, WhatIsNoReplyBreaksTheStream) {
  connect();
  silent();
  ask("a");
  loop.run(Millis(5));
  answering();
  peer.latest->reply("HTTP/1.1 400 Bad Request\r\n");
  loop.run(Millis(50));
  EXPECT_EQ(log, Strings{"a = a"});
  EXPECT_EQ(lost, 1);
}

TEST_F(ConnectionTest, ClosedItFailsWhatIsUnansweredAndTakesNothingMore) {
  connect();
  silent();
  const auto request = ask("a", kNever, true);
  loop.run(Millis(5));
  connection->close(Status::closed("closed"));
  EXPECT_EQ(log, Strings{"a failed"});
  EXPECT_EQ(request->why.code(), Code::kClosed);
  ask("b");
  EXPECT_EQ(submitted.code(), Code::kClosed);
  loop.run(Millis(5000));
  EXPECT_EQ(log, Strings{"a failed"});
  EXPECT_TRUE(network.open_wires().empty());
  EXPECT_EQ(lost, 0);
}

TEST_F(ConnectionTest, ADeadStreamIsNoticedWithoutAQuestion) {
  connect();
  network.open_wires().at(0)->cut(false);
  loop.run(Millis(20));
  EXPECT_EQ(lost, 1);
}

}  // namespace
}  // namespace holdfast::client
