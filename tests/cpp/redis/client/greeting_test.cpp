// What a stream says first, and what becomes of it by the replies.

#include "redis/client/greeting.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "redis/client/reconnecting_stream.h"

namespace holdfast::client {
namespace {

class GreetingTest : public ::testing::Test {
 protected:
  GreetingTest() { options.client_name = "me"; }

  // The words of the commands that are said.
  bool says(std::string_view word) {
    greeting.begin(options, {}, tracking, TimePoint{});
    return greeting.unsent.find(word) != std::string::npos;
  }
  std::optional<Greeting::Failure> take(std::string_view bytes) {
    resp::Reader reader;
    reader.feed(bytes.data(), bytes.size());
    return greeting.take(*reader.next().value(), options, tracking, TimePoint{});
  }

  StreamOptions options;
  Tracking tracking{TrackingMode::kOff};
  Greeting greeting;
};

TEST_F(GreetingTest, AServerThatDoesNotKnowHelloIsSpokenToInResp2) {
  options.resp3 = true;
  ASSERT_TRUE(says("HELLO"));
  EXPECT_FALSE(take("-ERR unknown command 'HELLO'\r\n"));
  EXPECT_FALSE(take("+OK\r\n"));
  EXPECT_TRUE(greeting.answered());
  EXPECT_FALSE(greeting.resp3());
}

TEST_F(GreetingTest, TheNameIsLeftOutAfterAServerRefusedIt) {
  ASSERT_TRUE(says("SETNAME"));
  EXPECT_FALSE(take("-ERR unknown command 'CLIENT'\r\n"));
  EXPECT_TRUE(greeting.answered());
  EXPECT_FALSE(says("SETNAME"));
}

TEST_F(GreetingTest, WhatAServerMayRefuseIsLeftOutOnceAfterItHungUp) {
  options.service = "orders";
  for (const std::string_view word : {"SETNAME", "HELLO"}) {
    ASSERT_TRUE(says(word));
    greeting.broken();
    EXPECT_FALSE(says(word));
    EXPECT_TRUE(greeting.answered());
    EXPECT_TRUE(says(word));
  }
}

TEST_F(GreetingTest, TheNameIsSentAgainWhereAPasswordWasMissing) {
  ASSERT_TRUE(says("SETNAME"));
  const auto failure = take("-NOAUTH Authentication required.\r\n");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->why.code(), Code::kServer);
  greeting.broken();
  EXPECT_TRUE(says("SETNAME"));
}

TEST_F(GreetingTest, TheLabelAloneIsLeftOutAfterAServerRefusedIt) {
  options.label = {"EVAL", "return 1", "1", "me", "billing"};
  ASSERT_TRUE(says("billing"));
  EXPECT_FALSE(take("+OK\r\n"));
  EXPECT_FALSE(take("-NOPERM this user has no permissions to run 'eval'\r\n"));
  EXPECT_TRUE(greeting.answered());
  EXPECT_FALSE(says("billing"));
  EXPECT_TRUE(says("SETNAME"));
}

TEST_F(GreetingTest, ALabelThatAReplicaOrAFullServerRefusedIsSaidAgain) {
  options.label = {"EVAL", "return 1", "1", "me", "billing"};
  for (const char* refusal : {"-READONLY You can't write against a read only replica.\r\n",
                              "-OOM command not allowed when used memory > 'maxmemory'.\r\n"}) {
    ASSERT_TRUE(says("billing"));
    EXPECT_FALSE(take("+OK\r\n"));
    EXPECT_FALSE(take(refusal));
    EXPECT_TRUE(says("billing"));
  }
}

TEST_F(GreetingTest, ALabelThatWasTakenIsSaidAgain) {
  options.label = {"EVAL", "return 1", "1", "me", "billing"};
  ASSERT_TRUE(says("billing"));
  EXPECT_FALSE(take(":1\r\n"));
  EXPECT_FALSE(take(":1\r\n"));
  EXPECT_TRUE(greeting.answered());
  EXPECT_TRUE(says("billing"));
}

constexpr const char* kReplica = "*2\r\n$4\r\nrole\r\n$7\r\nreplica\r\n";
constexpr const char* kNoHello = "-ERR unknown command 'HELLO'\r\n";

TEST_F(GreetingTest, HelloSaysTheRole) {
  options.service = "orders";
  EXPECT_TRUE(says("HELLO\r\n$1\r\n2"));
  EXPECT_FALSE(take("*2\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"));
  EXPECT_FALSE(take("+OK\r\n"));
  EXPECT_TRUE(greeting.answered());
  EXPECT_EQ(greeting.role(), Role::kPrimary);
  EXPECT_FALSE(greeting.resp3());
}

TEST_F(GreetingTest, OnlyAServerWithoutHelloIsAskedByRole) {
  options.service = "orders";
  for (const bool resp3 : {false, true}) {
    options.resp3 = resp3;
    greeting = {};
    EXPECT_FALSE(says("ROLE"));
    EXPECT_FALSE(take(kNoHello));
    EXPECT_FALSE(greeting.answered());
    greeting.unsent.clear();
    EXPECT_FALSE(take("+OK\r\n"));
    EXPECT_EQ(greeting.unsent, "*1\r\n$4\r\nROLE\r\n");
    EXPECT_FALSE(greeting.answered());
    EXPECT_FALSE(take("*1\r\n$6\r\nmaster\r\n"));
    EXPECT_TRUE(greeting.answered());
    EXPECT_EQ(greeting.role(), Role::kPrimary);
  }
}

TEST_F(GreetingTest, AServerThatWasAskedByRoleIsAskedSoAtOnce) {
  options.service = "orders";
  ASSERT_FALSE(says("ROLE"));
  EXPECT_FALSE(take(kNoHello));
  EXPECT_FALSE(take("+OK\r\n"));
  ASSERT_TRUE(says("ROLE"));
  EXPECT_TRUE(take("*1\r\n$5\r\nslave\r\n"));
}

TEST_F(GreetingTest, ARoleThatIsRefusedIsUnknownAndNotAskedForAgain) {
  for (const char* refusal :
       {"-NOPERM this user has no permissions\r\n", "-ERR unknown command\r\n"}) {
    options.service = "orders";
    greeting = {};
    ASSERT_FALSE(says("ROLE"));
    EXPECT_FALSE(take(kNoHello));
    EXPECT_FALSE(take("+OK\r\n"));
    EXPECT_FALSE(take(refusal));
    EXPECT_TRUE(greeting.answered());
    EXPECT_EQ(greeting.role(), Role::kUnknown);
    EXPECT_FALSE(says("ROLE"));
    EXPECT_FALSE(says("HELLO"));
    EXPECT_TRUE(says("SETNAME"));
  }
}

TEST_F(GreetingTest, AReplicaOfTheServiceIsLeftWithAReset) {
  options.service = "orders";
  ASSERT_TRUE(says("HELLO"));
  const auto failure = take(kReplica);
  ASSERT_TRUE(failure);
  EXPECT_TRUE(failure->reset);
  EXPECT_EQ(failure->why.code(), Code::kUnreachable);
}

}  // namespace
}  // namespace holdfast::client
