// Queries and steps without an owner, for each caller: one command where the server replies, and
// every way on from there.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "locks/sync/call_fixture.h"
#include "locks/sync/operation/calls.h"
#include "locks/sync/operation/query_operation.h"

namespace holdfast::sync {
namespace {

class QueryTest : public CallFixture, public ::testing::WithParamInterface<CallerKind> {
 protected:
  QueryTest() { set_up(GetParam(), kinds_with_holds().front()); }

  Query value() const {
    return {lock->name, [](script::Writer& out) {
              out.command({"GET", "the lock"}, script::kNumberReplies);
            }};
  }
  // A release of a semaphore: it is completed even if its caller leaves.
  ExchangePtr add_permit() const {
    return counter_call(context, LockName("permits"), *semaphore().find("release"), 1);
  }
};

const std::string kGet = "*2\r\n$3\r\nGET\r\n$8\r\nthe lock\r\n";

TEST_P(QueryTest, IsOneCommand) {
  run(call_of(context, value()), {":12\r\n"});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(outcome->value, 12);
  EXPECT_EQ(script.got, kGet);
}

TEST_P(QueryTest, ADecimalTextIsItsNumberAndNilIsNone) {
  run(call_of(context, value()), {"$2\r\n12\r\n"});
  EXPECT_EQ(outcome->value, 12);
  run(call_of(context, value()), {kNil});
  EXPECT_EQ(outcome->value, std::nullopt);
}

TEST_P(QueryTest, WhatItsMakerCorrectsIsTheAnswer) {
  Query query = value();
  query.answered = [](std::optional<std::int64_t>& answer, const client::Sent& sent) {
    EXPECT_EQ(sent.times, 1);
    answer = -*answer;
  };
  run(call_of(context, query), {":12\r\n"});
  EXPECT_EQ(outcome->value, -12);
}

TEST_P(QueryTest, AReplyOfAnyKindIsKeptForItsMaker) {
  Query query = value();
  query.encode = [](script::Writer& out) {
    out.command({"GET", "the lock"}, resp::ReplyKinds::any());
  };
  query.whole_reply = true;
  const ExchangePtr call = call_of(context, query);
  run(call, {"*2\r\n:7\r\n$3\r\nabc\r\n"});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(outcome->value, std::nullopt);
  ASSERT_NE(call->replies(), nullptr);
  EXPECT_TRUE(call->replies()->one);
  const resp::Reply& reply = *call->replies()->all.at(0);
  EXPECT_EQ(reply.integer_at(0), 7);
  EXPECT_EQ(reply.text_at(1), "abc");
}

TEST_P(QueryTest, AnErrorOfTheServerIsTheCallers) {
  run(call_of(context, value()), {"-WRONGTYPE no string\r\n"});
  EXPECT_EQ(verdict(), Verdict::kFailed);
  EXPECT_NE(outcome->why.message().find("'the lock'"), std::string::npos);
}

TEST_P(QueryTest, AServerThatDoesNotKnowTheScriptGetsItsText) {
  run(add_permit(), {kNoScript, ":1\r\n"});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(script.count("EVALSHA\r\n"), 1);
  EXPECT_EQ(script.count("EVAL\r\n"), 1);
  EXPECT_TRUE(keeper().is_idle());
}

TEST_P(QueryTest, WhoseCallerLeavesIsNotSentAgain) {
  leave(call_of(context, value()));
  script.replies = {Script::kEnd.data()};
  for (int i = 0; i < 5; ++i) {
    script.clock.advance(Millis(1000));
    (void)connection->step(script.clock.now());
  }
  EXPECT_EQ(script.got, kGet);
}

TEST_P(QueryTest, AReturnIsPendingUntilItsReply) {
  meanwhile([this] { EXPECT_FALSE(keeper().is_idle()); }, add_permit(), {":1\r\n"});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_TRUE(keeper().is_idle());
}

TEST_P(QueryTest, AReturnWhoseCallerLeavesStaysPendingUntilItsReply) {
  leave(add_permit());
  EXPECT_FALSE(keeper().is_idle());
  read(":1\r\n");
  EXPECT_TRUE(keeper().is_idle());
}

TEST_P(QueryTest, AReturnIsSentAgainAfterItsCallerHasLeft) {
  leave(add_permit());
  const std::string sent = script.got;
  script.replies = {Script::kEnd.data()};
  for (int i = 0; i < 10 && script.got.size() < 2 * sent.size(); ++i) {
    script.clock.advance(Millis(100));
    (void)connection->step(script.clock.now());
  }
  EXPECT_EQ(script.got, sent + sent);
  EXPECT_FALSE(keeper().is_idle());
}

TEST_P(QueryTest, ARefusedReturnIsOver) {
  run(add_permit(), {"-WRONGTYPE no string\r\n"});
  EXPECT_EQ(verdict(), Verdict::kFailed);
  EXPECT_TRUE(keeper().is_idle());
}

INSTANTIATE_TEST_SUITE_P(Of, QueryTest, ::testing::Values(CallerKind::kThread, CallerKind::kTask),
                         [](const ::testing::TestParamInfo<CallerKind>& caller) {
                           return caller.param == CallerKind::kThread ? "thread" : "task";
                         });

}  // namespace
}  // namespace holdfast::sync
