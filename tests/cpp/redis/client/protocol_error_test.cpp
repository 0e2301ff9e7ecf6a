// Replies that are not those to the commands that were sent: the stream ends, and what it has not
// answered is sent again on the next one.

#include <gtest/gtest.h>

#include <string>

#include "redis/client/exchange_fixture.h"

namespace holdfast::client {
namespace {

using resp::ReplyKind;
using resp::ReplyKinds;

class ProtocolErrorTest : public ExchangeFixture {
 protected:
  // A stream has ended, once.
  void expect_end(const std::string& what) {
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].find("127.0.0.1:6379 " + what), 0U) << errors[0];
    EXPECT_EQ(stats->total(Stats::Counter::kProtocolErrors), 1);
  }

  void expect_refused(ReplyKinds allowed, const char* reply, const std::string& word) {
    open();
    kinds = allowed;
    script.replies = {reply};
    EXPECT_EQ(exchange(), Exchanged::kInLine);
    EXPECT_FALSE(asked->control.done);
    expect_end("sent " + word + " that cannot be the reply to its command");
    script.replies = {"-ERR no\r\n"};
    EXPECT_EQ(wait(asked), "ERR no");
  }
};

TEST_F(ProtocolErrorTest, AReplyThatCameBeforeACommandIsNotItsAnswer) {
  open();
  script.unasked = true;
  EXPECT_EQ(exchange(), Exchanged::kNotBegun);
  EXPECT_EQ(script.count("word"), 0);
  const InquiryPtr inquiry = submit("word");
  EXPECT_EQ(script.count("word"), 0) << "what came would be taken for its reply";
  script.replies = {"$-1\r\n", "+its own\r\n"};
  EXPECT_EQ(wait(inquiry), "its own");
  expect_end("sent a reply that no command asked for");
}

TEST_F(ProtocolErrorTest, InputThatHoldsNoReplyDoesNotDelayACommand) {
  open();
  script.unasked = true;
  const InquiryPtr inquiry = submit("word");
  EXPECT_EQ(script.count("word"), 0);
  script.on_reading = [this] { script.unasked = false; };
  script.replies = {"", "+its own\r\n"};
  EXPECT_EQ(wait(inquiry), "its own");
  EXPECT_TRUE(errors.empty());
}

TEST_F(ProtocolErrorTest, InputThatHoldsNoReplyDoesNotDelayACommandOfTheLoop) {
  driver = Connection::Driver::kLoop;
  make();
  script.unasked = true;
  const InquiryPtr inquiry = submit("word");
  EXPECT_LE(connection->step(script.clock.now()).until, script.clock.now());
  EXPECT_EQ(script.count("word"), 0);
  script.unasked = false;
  script.replies = {"", "+its own\r\n"};
  while (connection->step(script.clock.now()).until <= script.clock.now()) {
  }
  EXPECT_EQ(script.count("word"), 1);
  (void)connection->step(script.clock.now());
  EXPECT_EQ(inquiry->answer, "its own");
}

TEST_F(ProtocolErrorTest, AReplyTooManyEndsTheStream) {
  open();
  script.replies = {":1\r\n:2\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(asked->number, 1);
  expect_end("sent a reply that no command asked for");
  EXPECT_EQ(exchange(), Exchanged::kNotBegun) << "there is no stream";
}

TEST_F(ProtocolErrorTest, AReplyOfAStreamThatWasLeftMeanwhileIsNone) {
  open();
  const InquiryPtr moved = submit("moved");
  script.on_reading = [this] { connection->move(net::Address{"127.0.0.1", 2, {}}); };
  script.replies = {"+old\r\n", "+new\r\n"};
  EXPECT_EQ(wait(moved), "new");
  const InquiryPtr closed = submit("closed");
  script.on_reading = [this] { connection->close(Status::closed("closed")); };
  script.replies = {"+late\r\n"};
  EXPECT_EQ(wait(closed), "closed");
  EXPECT_EQ(stats->total(Stats::Counter::kProtocolErrors), 0);
}

TEST_F(ProtocolErrorTest, AReplyOfAKindThatTheCommandCannotHaveIsNotItsAnswer) {
  open();
  kinds = ReplyKind::kNil | ReplyKind::kInteger;
  script.replies = {"+OK\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_FALSE(asked->control.done);
  expect_end("sent a status that cannot be the reply to its command");
  script.replies = {":3\r\n"};
  EXPECT_EQ(wait(asked), "");
  EXPECT_EQ(asked->number, 3);
  EXPECT_EQ(asked->times, 2);
}

TEST_F(ProtocolErrorTest, APlainReplyOfAnotherKindIsNotItsAnswer) {
  open();
  kinds = ReplyKind::kInteger;
  script.replies = {"$-1\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_FALSE(asked->control.done);
  expect_end("sent a nil that cannot be the reply to its command");
}

TEST_F(ProtocolErrorTest, ANumberOutOfTheRangeOfTheCommandIsNotItsAnswer) {
  expect_refused(ReplyKinds(ReplyKind::kInteger).within(0, 1), ":2\r\n", "an integer");
}

TEST_F(ProtocolErrorTest, ATextThatIsNoTokenIsNotTheAnswer) {
  expect_refused(ReplyKinds(ReplyKind::kText).decimal(), "$2\r\nhi\r\n", "a string");
}

TEST_F(ProtocolErrorTest, PlacesOutOfTheBatchAreNotItsAnswer) {
  expect_refused(ReplyKinds(ReplyKind::kArray).arrays_of(ReplyKinds::Array::kPlaces).about(1),
                 "*3\r\n:1\r\n:2\r\n:3\r\n", "an array");
}

TEST_F(ProtocolErrorTest, AnErrorIsAReplyToAnyCommand) {
  open();
  kinds = ReplyKind::kNil;
  script.replies = {"-ERR no\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(asked->answer, "ERR no");
  EXPECT_TRUE(errors.empty());
}

TEST_F(ProtocolErrorTest, AnUnreadReplyOfAnotherKindEndsTheStreamForAllBehindIt) {
  open();
  kinds = ReplyKind::kInteger;
  post("late");
  kinds = ReplyKind::kNil;
  script.replies = {"$-1\r\n$-1\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_FALSE(posted->control.done);
  EXPECT_FALSE(asked->control.done);
  expect_end("sent a nil that cannot be the reply to its command");
  script.replies = {":1\r\n$-1\r\n"};
  wait(asked);
  EXPECT_EQ(posted->number, 1);
  EXPECT_EQ(posted->times, 2);
}

TEST_F(ProtocolErrorTest, BehindAnUnreadReplyOneOfAnotherKindIsNotTheAnswer) {
  open();
  kinds = ReplyKind::kInteger;
  post("late");
  script.replies = {":5\r\n$-1\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(posted->number, 5);
  EXPECT_FALSE(asked->control.done);
  expect_end("sent a nil that cannot be the reply to its command");
  script.replies = {":7\r\n"};
  wait(asked);
  EXPECT_EQ(asked->number, 7);
}

TEST_F(ProtocolErrorTest, WhatIsNoReplyEndsTheStream) {
  open();
  script.replies = {"HTTP/1.1 400 Bad Request\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_FALSE(asked->control.done);
  expect_end("sent bytes that are not a Redis reply");
}

TEST_F(ProtocolErrorTest, APushIsNoReply) {
  open();
  script.replies = {">2\r\n+invalidate\r\n*0\r\n:1\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(asked->number, 1);
  EXPECT_TRUE(errors.empty());
}

TEST_F(ProtocolErrorTest, TheRestOfAPushIsNotTakenForAReply) {
  open();
  script.replies = {":1\r\n>2\r\n+a\r\n", ":5\r\n:2\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(asked->number, 1);
  EXPECT_EQ(exchange("next"), Exchanged::kNotBegun) << "a part of a push has been read";
  const InquiryPtr next = submit("next");
  wait(next);
  EXPECT_EQ(next->number, 2);
  EXPECT_TRUE(errors.empty());
}

TEST_F(ProtocolErrorTest, AReplyBehindTheGreetingIsNotTheAnswerToTheFirstCommand) {
  resp3 = true;
  script.replies = {"%1\r\n+proto\r\n:3\r\n+too many\r\n", "%1\r\n+proto\r\n:3\r\n"};
  open();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(greeted->answer, "ready");
}

TEST_F(ProtocolErrorTest, APushInTheGreetingIsNotCounted) {
  resp3 = true;
  script.replies = {">2\r\n+server\r\n+text\r\n%1\r\n+proto\r\n:3\r\n"};
  open();
  EXPECT_EQ(greeted->answer, "ready");
  script.replies = {":4\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kAnswered);
  EXPECT_EQ(answer.reply.integer, 4);
  EXPECT_TRUE(errors.empty());
}

}  // namespace
}  // namespace holdfast::client
