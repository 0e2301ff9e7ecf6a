// Commands of a thread that does not wait for their replies, and who reads those.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/client/exchange_fixture.h"

namespace holdfast::client {
namespace {

class PostTest : public ExchangeFixture {};

TEST_F(PostTest, ItIsSentAndNotReadFor) {
  open();
  EXPECT_EQ(post("late"), Posted::kWritten);
  EXPECT_EQ(script.count("late"), 1);
  EXPECT_FALSE(posted->control.done);
  EXPECT_EQ(posted->writings, 0) << "its thread knows";
}

TEST_F(PostTest, TheNextExchangeReadsItsReplyToo) {
  open();
  post("late");
  script.replies = {":5\r\n:7\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kAnswered);
  EXPECT_EQ(answer.reply.integer, 7);
  EXPECT_EQ(posted->number, 5);
  EXPECT_EQ(posted->times, 1);
  script.replies = {":8\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kAnswered) << "nothing is left in line, nor in the stream";
  EXPECT_EQ(answer.reply.integer, 8);
}

TEST_F(PostTest, WhatWasSentAgainIsReportedAlthoughItsReplyStaysUnread) {
  open();
  post("late");
  script.replies = {std::string(Script::kEnd)};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  script.clock.advance(Millis(2000));
  script.replies = {":5\r\n:7\r\n"};
  wait(asked);
  EXPECT_EQ(posted->times, 2);
  ASSERT_EQ(resolved.size(), 2U);
  EXPECT_EQ(resolved[0].key, "late");
  EXPECT_EQ(resolved[1].key, "word");
  EXPECT_EQ(resolved[1].server, "127.0.0.1:6379");
}

TEST_F(PostTest, ItsReplyMayComeFirst) {
  open();
  post("late");
  script.replies = {":5\r\n", "$-1\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kAnswered);
  EXPECT_FALSE(answer.reply.integer);
  EXPECT_EQ(posted->number, 5);
}

TEST_F(PostTest, AFewMayLieUnreadInOrder) {
  open();
  std::vector<InquiryPtr> all;
  for (const char* word : {"a", "b", "c", "d"}) {
    EXPECT_EQ(post(word), Posted::kWritten);
    all.push_back(posted);
  }
  script.replies = {":1\r\n:2\r\n", ":3\r\n:4\r\n:5\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kAnswered);
  EXPECT_EQ(answer.reply.integer, 5);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]->number, static_cast<std::int64_t>(i + 1));
  }
}

TEST_F(PostTest, ManyAreForTheLine) {
  open();
  for (const char* word : {"a", "b", "c", "d", "e"}) EXPECT_EQ(post(word), Posted::kWritten);
  EXPECT_EQ(exchange("mine"), Exchanged::kNotBegun);
  EXPECT_EQ(post("f"), Posted::kNotBegun);
  EXPECT_EQ(script.count("mine"), 0);
  script.replies = {":1\r\n:2\r\n:3\r\n:4\r\n:5\r\n+its\r\n"};
  EXPECT_EQ(wait(submit("other")), "its");
}

TEST_F(PostTest, BesideARequestThatIsAwaitedItIsRefused) {
  open();
  const InquiryPtr other = submit("other");
  EXPECT_EQ(post("late"), Posted::kNotBegun);
  script.replies = {"+its\r\n"};
  wait(other);
}

TEST_F(PostTest, AnErrorGoesToItAndTheRestIsRead) {
  open();
  post("late");
  script.replies = {"-ERR no\r\n:7\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(posted->answer, "ERR no");
  EXPECT_TRUE(asked->control.done);
  EXPECT_EQ(asked->number, 7);
}

TEST_F(PostTest, AReplyCutInTwoIsReadBehindIt) {
  open();
  post("late");
  script.replies = {":5\r\n:", "7\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(posted->number, 5);
  EXPECT_FALSE(asked->control.done);
  wait(asked);
  EXPECT_EQ(asked->number, 7);
  EXPECT_EQ(script.count("word"), 1);
}

TEST_F(PostTest, WhatComesUnaskedBehindItIsNotKeptForTheNext) {
  open();
  post("late");
  script.replies = {":5\r\n:7\r\n:9\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(posted->number, 5);
  EXPECT_EQ(asked->number, 7);
}

TEST_F(PostTest, WithoutTheSecondReplyTheFirstCounts) {
  open();
  post("late");
  script.replies = {":5\r\n", "", ":7\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(posted->number, 5);
  wait(asked);
  EXPECT_EQ(asked->number, 7);
}

TEST_F(PostTest, TheStreamEndsBehindItsReply) {
  open();
  post("late");
  script.replies = {":5\r\n", std::string(Script::kEnd)};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(posted->number, 5);
  script.clock.advance(Millis(2000));
  script.replies = {"+again\r\n"};
  EXPECT_EQ(wait(asked), "again");
  EXPECT_EQ(asked->times, 2);
  EXPECT_EQ(script.count("late"), 1) << "it was answered";
}

TEST_F(PostTest, AfterABreakBothAreSentAgainInOrder) {
  open();
  post("late");
  script.replies = {std::string(Script::kEnd)};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  script.clock.advance(Millis(2000));
  script.got.clear();
  script.replies = {"+first\r\n+second\r\n"};
  EXPECT_EQ(wait(asked), "second");
  EXPECT_EQ(posted->answer, "first");
  EXPECT_LT(script.got.find("late"), script.got.find("word"));
}

TEST_F(PostTest, MovedMeanwhileBothAreSentWhereTheServerIsInOrder) {
  open();
  post("late");
  script.on_reading = [this] {
    connection->move(net::Address{"127.0.0.1", 2, {}});
    script.got.clear();
  };
  script.replies = {":5\r\n:7\r\n", "+first\r\n+second\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine) << "the owner's release must not follow its new grant";
  EXPECT_EQ(wait(asked), "second");
  EXPECT_EQ(posted->answer, "first");
  EXPECT_LT(script.got.find("late"), script.got.find("word"));
}

TEST_F(PostTest, ClosedMeanwhileNoReplyGoesToAnother) {
  open();
  post("late");
  script.on_reading = [this] { connection->close(Status::closed("closed")); };
  script.replies = {":5\r\n:7\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(posted->answer, "closed");
  EXPECT_EQ(wait(asked), "closed");
}

TEST_F(PostTest, WhatComesMeanwhileStandsBehindBoth) {
  open();
  post("late");
  InquiryPtr other;
  script.on_reading = [&] { other = submit("other"); };
  script.replies = {"", "+first\r\n+second\r\n+third\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(wait(asked), "second");
  EXPECT_EQ(posted->answer, "first");
  EXPECT_EQ(wait(other), "third");
}

TEST_F(PostTest, WhatTheSocketDidNotTakeIsWrittenLater) {
  open();
  post("first");
  const InquiryPtr first = posted;
  script.got.clear();
  script.room = 5;
  EXPECT_EQ(post("late"), Posted::kInLine);
  EXPECT_EQ(posted->writings, 0);
  script.replies = {"", "+one\r\n+two\r\n"};  // nothing comes before it is written
  EXPECT_EQ(wait(posted), "two");
  EXPECT_EQ(first->answer, "one");
  EXPECT_EQ(posted->writings, 1);
  EXPECT_EQ(script.got, resp::Command({"ASK", "late"}).bytes());
}

TEST_F(PostTest, ClosedWhileItIsWrittenItEnds) {
  open();
  script.on_writing = [this] { connection->close(Status::closed("closed")); };
  EXPECT_EQ(post("late"), Posted::kInLine);
  EXPECT_EQ(posted->answer, "closed");
}

TEST_F(PostTest, MovedWhileItIsWrittenItIsSentWhereTheServerIs) {
  open();
  script.on_writing = [this] { connection->move(net::Address{"127.0.0.1", 2, {}}); };
  EXPECT_EQ(post("late"), Posted::kInLine);
  script.replies = {"+there\r\n"};
  EXPECT_EQ(wait(posted), "there");
  EXPECT_EQ(posted->times, 2);
}

TEST_F(PostTest, TheLoopLeavesWhatIsNotOldToTheNextThread) {
  open();
  post("late");
  (void)connection->step(script.clock.now());  // which the first one has asked for
  script.clock.advance(Millis(4));
  script.replies = {":1\r\n:2\r\n"};
  exchange();
  post("later");
  script.clock.advance(Millis(2));
  const net::Interest next = connection->step(script.clock.now());
  EXPECT_FALSE(posted->control.done);
  EXPECT_EQ(next.until, script.clock.now() + Millis(3));
  script.replies = {":1\r\n:2\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kAnswered) << "the loop has not taken the lead";
}

TEST_F(PostTest, TheLoopReadsWhatIsOld) {
  open();
  post("late");
  (void)connection->step(script.clock.now());
  script.clock.advance(Millis(5));
  script.replies = {":5\r\n"};
  (void)connection->step(script.clock.now());
  EXPECT_EQ(posted->number, 5);
}

}  // namespace
}  // namespace holdfast::client
