// A thread that has a connection for itself, and what takes it off that path.

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "redis/client/connection.h"
#include "redis/client/exchange_fixture.h"

namespace holdfast::client {
namespace {

class ExchangeTest : public ExchangeFixture {};

TEST_F(ExchangeTest, APlainReplyIsTheAnswer) {
  open();
  const TimePoint before = script.clock.now();
  script.replies = {"$-1\r\n", ":-3\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kAnswered);
  EXPECT_FALSE(answer.reply.integer);
  EXPECT_EQ(answer.sent.last, before);
  EXPECT_EQ(answer.sent.times, 1);
  EXPECT_EQ(exchange(), Exchanged::kAnswered);
  EXPECT_EQ(answer.reply.integer, -3);
  EXPECT_FALSE(asked->control.done) << "the request was not needed";
}

TEST_F(ExchangeTest, WithoutAStreamNothingIsDone) {
  open();
  script.replies = {std::string(Script::kEnd)};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(exchange("next"), Exchanged::kNotBegun);
  EXPECT_EQ(script.count("next"), 0);
}

TEST_F(ExchangeTest, WhatIsForAnotherServerIsRefused) {
  open();
  mine = false;
  EXPECT_EQ(exchange(), Exchanged::kNotBegun);
  EXPECT_EQ(script.got, "");
}

TEST_F(ExchangeTest, AReplyCutInTwoReachesTheRequest) {
  open();
  script.replies = {":1", "7\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  wait(asked);
  EXPECT_EQ(asked->times, 1);
  EXPECT_EQ(script.count("word"), 1);
  script.replies = {":8\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kAnswered) << "nothing of it is left in the stream";
  EXPECT_EQ(answer.reply.integer, 8);
}

TEST_F(ExchangeTest, ALateReplyReachesTheRequest) {
  open();
  script.replies = {"", "", "+late\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(wait(asked), "late");
}

TEST_F(ExchangeTest, AnErrorReachesTheRequestAtOnce) {
  open();
  script.replies = {"-ERR no\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_TRUE(asked->control.done);
  EXPECT_EQ(asked->answer, "ERR no");
}

TEST_F(ExchangeTest, AScriptThatTheServerDoesNotKnowIsSentWithItsTextAtOnce) {
  open();
  script.replies = {"-NOSCRIPT No matching script.\r\n", "+known\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_FALSE(asked->control.done);
  EXPECT_EQ(script.count("BY TEXT"), 1);
  EXPECT_EQ(wait(asked), "known");
  EXPECT_EQ(asked->times, 1);
}

TEST_F(ExchangeTest, AnUnreadReplyThatTheScriptIsUnknownIsReadBeforeTheNextCommandsReply) {
  open();
  EXPECT_EQ(post("first"), Posted::kWritten);
  script.replies = {"-NOSCRIPT No matching script.\r\n:7\r\n", "+known\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(asked->number, 7);
  EXPECT_EQ(script.count("BY TEXT"), 1);
  submit("next");
  wait(posted);
  EXPECT_EQ(posted->answer, "known");
  EXPECT_EQ(posted->writings, 1) << "of its text";
}

TEST_F(ExchangeTest, WhatComesMeanwhileIsSentBehindItAndIsCompany) {
  open();
  InquiryPtr other;
  script.on_reading = [&] {
    other = submit("other");
    EXPECT_EQ(script.count("other"), 0) << "its reply would be taken for the first one's";
  };
  script.replies = {":1\r\n", "+its\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kAnswered);
  EXPECT_EQ(script.count("other"), 1);
  EXPECT_EQ(exchange(), Exchanged::kNotBegun);
  EXPECT_EQ(wait(other), "its");
  EXPECT_EQ(exchange(), Exchanged::kNotBegun) << "threads have met here";
}

TEST_F(ExchangeTest, WhatComesMeanwhileStandsBehindIt) {
  open();
  InquiryPtr other;
  script.on_reading = [&] { other = submit("other"); };
  script.replies = {"", "+first\r\n+second\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(wait(asked), "first");
  EXPECT_EQ(wait(other), "second");
}

TEST_F(ExchangeTest, AfterABreakTheRequestIsSentAgain) {
  open();
  script.replies = {std::string(Script::kEnd)};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_FALSE(asked->control.done);
  script.clock.advance(Millis(2000));
  script.replies = {"+again\r\n"};
  EXPECT_EQ(wait(asked), "again");
  EXPECT_EQ(asked->times, 2);
}

TEST_F(ExchangeTest, WhatAnotherThreadWritesWhileAnErrorIsHandledArrivesWhole) {
  open();
  std::promise<void> writes;
  std::promise<void> handled;
  std::thread other;
  on_answer = [&] {
    script.on_writing = [&] {
      writes.set_value();
      handled.get_future().wait();
    };
    other = std::thread([&] { submit("other"); });
    writes.get_future().wait();
  };
  script.replies = {"-ERR no\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  handled.set_value();
  other.join();
  const auto command = [](const char* word) { return resp::Command({"ASK", word}).bytes(); };
  EXPECT_EQ(script.got, command("word") + command("other"));
}

TEST_F(ExchangeTest, WhatTheSocketDidNotTakeIsSentLater) {
  open();
  script.room = 5;
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  script.replies = {"+whole\r\n"};
  EXPECT_EQ(wait(asked), "whole");
  EXPECT_EQ(script.got, resp::Command({"ASK", "word"}).bytes());
}

TEST_F(ExchangeTest, WhatIsSubmittedInASendBatchGoesOutInOnePiece) {
  open();
  script.writes = 0;
  InquiryPtr first;
  InquiryPtr second;
  {
    const SendBatch batch;
    first = submit("first");
    {
      const SendBatch inner;
      second = submit("second");
    }
    EXPECT_EQ(script.got, "");
  }
  EXPECT_EQ(script.count("first") + script.count("second"), 2);
  EXPECT_EQ(script.writes, 1);
  script.replies = {"+1\r\n", "+2\r\n"};
  EXPECT_EQ(wait(first) + wait(second), "12");
}

// Another thread, which submits one word before and one while this one has the connection for
// itself.
class Batching {
 public:
  template <typename Submit>
  explicit Batching(Submit submit) {
    std::future<void> put_off = put_off_.get_future();
    thread_ = std::thread([this, submit] {
      const SendBatch batch;
      submit("first");
      put_off_.set_value();
      goes_on_.get_future().wait();
      submit("second");
    });
    put_off.wait();
  }
  void end() {
    goes_on_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> put_off_;
  std::promise<void> goes_on_;
  std::thread thread_;
};

TEST_F(ExchangeTest, ASendBatchThatEndsMeanwhileIsSentBehindIt) {
  open();
  std::vector<InquiryPtr> words;
  Batching batching([&](const char* word) { words.push_back(submit(word)); });
  script.replies = {"+1\r\n"};
  EXPECT_EQ(wait(words[0]), "1");
  script.on_reading = [&] {
    batching.end();
    EXPECT_EQ(script.count("second"), 0) << "its reply would be taken for the first one's";
  };
  script.replies = {":7\r\n", "+2\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kAnswered);
  EXPECT_EQ(answer.reply.integer, 7);
  EXPECT_EQ(script.count("second"), 1);
  EXPECT_EQ(wait(words[1]), "2");
}

TEST_F(ExchangeTest, ASendBatchThatEndsWhileACommandIsWrittenLeavesItWhole) {
  open();
  std::vector<InquiryPtr> words;
  Batching batching([&](const char* word) { words.push_back(submit(word)); });
  script.replies = {"+1\r\n"};
  EXPECT_EQ(wait(words[0]), "1");
  script.got.clear();
  script.on_writing = [&] { batching.end(); };
  EXPECT_EQ(post("late"), Posted::kWritten);
  const auto command = [](const char* word) { return resp::Command({"ASK", word}).bytes(); };
  EXPECT_EQ(script.got, command("late") + command("second"));
  script.replies = {":5\r\n", "+2\r\n"};
  EXPECT_EQ(wait(words[1]), "2");
  EXPECT_EQ(posted->number, 5);
}

TEST_F(ExchangeTest, ClosedMeanwhileItEnds) {
  open();
  script.on_reading = [this] { connection->close(Status::closed("closed")); };
  script.replies = {""};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(wait(asked), "closed");
}

TEST_F(ExchangeTest, ClosedMeanwhileItGetsTheReplyThatHasCome) {
  open();
  script.on_reading = [this] { connection->close(Status::closed("closed")); };
  script.replies = {"-ERR it failed\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_EQ(wait(asked), "ERR it failed");
}

TEST_F(ExchangeTest, MovedMeanwhileItIsSentWhereTheServerIs) {
  open();
  for (const char* const old : {"+old\r\n", ":5\r\n", "$-1\r\n"}) {
    script.on_reading = [this] { connection->move(net::Address{"127.0.0.1", 2, {}}); };
    script.replies = {old, "+new\r\n"};
    ASSERT_EQ(exchange(), Exchanged::kInLine) << "a grant of the server that was left";
    EXPECT_EQ(wait(asked), "new");
    EXPECT_EQ(asked->times, 2);
  }
}

TEST_F(ExchangeTest, WhatADemotedServerRefusesIsAskedAgain) {
  const std::string master = "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n";
  script.replies = {master};
  open("orders");
  script.replies = {"-READONLY You can't write against a read only replica.\r\n"};
  EXPECT_EQ(exchange(), Exchanged::kInLine);
  EXPECT_FALSE(asked->control.done);
  script.clock.advance(Millis(2000));
  script.replies = {master, "+now\r\n"};
  EXPECT_EQ(wait(asked), "now");
}

}  // namespace
}  // namespace holdfast::client
