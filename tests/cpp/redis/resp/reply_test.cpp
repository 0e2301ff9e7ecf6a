#include "redis/resp/reply.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::resp {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace)

void feed(Reader& reader, const std::string& bytes) { reader.feed(bytes.data(), bytes.size()); }

// The one reply that `bytes` are.
Reply reply_of(const std::string& bytes) {
  Reader reader;
  feed(reader, bytes);
  auto next = reader.next();
  if (!next.ok() || !next.value()) throw std::runtime_error("not one reply: " + bytes);
  return std::move(*next.value());
}

Status failure_of(const std::string& bytes) {
  Reader reader;
  feed(reader, bytes);
  return reader.next().status();
}

TEST(Reply, Integer) {
  const Reply reply = reply_of(":-42\r\n");
  EXPECT_TRUE(reply.is_integer());
  EXPECT_FALSE(reply.is_nil() || reply.is_error() || reply.is_array() || reply.is_push());
  EXPECT_EQ(reply.integer(), -42);
  EXPECT_TRUE(reply.text().empty());
  EXPECT_EQ(reply.size(), 0U);
}

TEST(Reply, StringOfAnyBytes) {
  const Reply reply = reply_of("$5\r\na\r\n\0b\r\n"s);
  EXPECT_EQ(reply.text(), "a\r\n\0b"s);
  EXPECT_FALSE(reply.is_integer() || reply.is_error());
  EXPECT_EQ(reply.integer(), 0);
}

TEST(Reply, StatusAndError) {
  EXPECT_EQ(reply_of("+OK\r\n").text(), "OK");
  const Reply error = reply_of("-WRONGTYPE not a hash\r\n");
  EXPECT_TRUE(error.is_error());
  EXPECT_EQ(error.text(), "WRONGTYPE not a hash");
}

TEST(Reply, AnErrorHasAnEnd) {
  const Reply error = reply_of("-ERR " + std::string(100'000, 'x') + "\r\n");
  EXPECT_EQ(error.text().size(), 1200U);
  EXPECT_EQ(error.text().substr(1195), "xx...");
  const std::string longest = "ERR " + std::string(1196, 'x');
  EXPECT_EQ(reply_of("-" + longest + "\r\n").text(), longest);
}

TEST(Reply, NilInEachOfItsForms) {
  EXPECT_TRUE(reply_of("$-1\r\n").is_nil());
  EXPECT_TRUE(reply_of("*-1\r\n").is_nil());
  EXPECT_TRUE(reply_of("_\r\n").is_nil());
}

TEST(Reply, ElementsOfAnArray) {
  const Reply reply = reply_of("*4\r\n$1\r\na\r\n:7\r\n$-1\r\n*1\r\n:1\r\n");
  ASSERT_TRUE(reply.is_array());
  EXPECT_EQ(reply.size(), 4U);
  EXPECT_EQ(reply.text_at(0), "a");
  EXPECT_EQ(reply.integer_at(1), 7);
  EXPECT_TRUE(reply.at(2).is_nil());
  EXPECT_FALSE(reply.at(3).is_nil());
  EXPECT_EQ(reply.integer_at(3), 0);
}

TEST(Reply, WhatIsNotThereIsNil) {
  const Reply array = reply_of("*1\r\n:7\r\n");
  EXPECT_TRUE(array.at(1).is_nil());
  EXPECT_EQ(array.integer_at(1), 0);
  EXPECT_TRUE(array.text_at(1).empty());
  const Reply number = reply_of(":3\r\n");
  EXPECT_TRUE(number.at(0).is_nil());
}

TEST(Reply, TypesOfResp3) {
  EXPECT_TRUE(reply_of("#t\r\n").is_integer());
  EXPECT_EQ(reply_of("#t\r\n").integer(), 1);
  EXPECT_EQ(reply_of("#f\r\n").integer(), 0);
  EXPECT_EQ(reply_of(",1.5\r\n").text(), "1.5");
  EXPECT_EQ(reply_of("(123456789012345678901234567890\r\n").text(),
            "123456789012345678901234567890");
  EXPECT_EQ(reply_of("=7\r\ntxt:abc\r\n").text(), "abc");
  EXPECT_EQ(reply_of("~2\r\n:1\r\n:2\r\n").size(), 2U);
}

TEST(Reply, AMapIsReadAsNamesAndValues) {
  const Reply reply = reply_of("%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n");
  ASSERT_TRUE(reply.is_array());
  EXPECT_EQ(reply.size(), 4U);
  EXPECT_EQ(reply.text_at(0), "server");
  EXPECT_EQ(reply.integer_at(3), 3);
}

TEST(Reply, APushIsRecognized) {
  const Reply push = reply_of(">3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$1\r\n0\r\n");
  EXPECT_TRUE(push.is_push());
  EXPECT_TRUE(push.is_array());
  EXPECT_FALSE(reply_of("*1\r\n:1\r\n").is_push());
}

TEST(Reply, Moves) {
  Reply from = reply_of("+a\r\n");
  Reply to(std::move(from));
  EXPECT_EQ(to.text(), "a");
  to = reply_of("+b\r\n");
  EXPECT_EQ(to.text(), "b");
}

TEST(Reader, NeedsAllBytesOfAReply) {
  const std::string bytes = "*3\r\n$1\r\na\r\n*2\r\n:1\r\n+ok\r\n$-1\r\n";
  Reader reader;
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    reader.feed(&bytes[i], 1);
    const auto next = reader.next();
    ASSERT_TRUE(next.ok()) << i;
    ASSERT_FALSE(next.value().has_value()) << i;
  }
  reader.feed(&bytes.back(), 1);
  const auto whole = reader.next();
  ASSERT_TRUE(whole.ok() && whole.value());
  EXPECT_EQ(whole.value()->size(), 3U);
}

TEST(Reader, SplitsAPipelineOfReplies) {
  Reader reader;
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += ":" + std::to_string(i) + "\r\n";
  feed(reader, bytes);
  for (int i = 0; i < 1000; ++i) {
    const auto next = reader.next();
    ASSERT_TRUE(next.ok() && next.value());
    ASSERT_EQ(next.value()->integer(), i);
  }
  EXPECT_FALSE(reader.next().value().has_value());
}

// Plain replies are read in place, others by hiredis: where one ends and the other begins must not
// depend on the pieces in which they come.
TEST(Reader, ReadsPlainRepliesAmongOthersWhateverThePieces) {
  const std::string bytes =
      ":1\r\n*2\r\n:2\r\n$-1\r\n$-1\r\n:3\r\n+ok\r\n:-4\r\n_\r\n*-1\r\n:5\r\n";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    Reader reader;
    std::string seen;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      feed(reader, bytes.substr(at, piece));
      for (auto next = reader.next(); next.value(); next = reader.next()) {
        const Reply& reply = *next.value();
        seen += reply.is_integer() ? std::to_string(reply.integer()) : std::string(reply.text());
        seen += reply.is_array() ? "array " : reply.is_nil() ? "nil " : " ";
      }
    }
    EXPECT_EQ(seen, "1 array nil 3 ok -4 nil nil 5 ") << piece;
  }
}

TEST(Reader, PassesOverAttributes) {
  Reader reader;
  feed(reader, "|1\r\n+ttl\r\n:3600\r\n:7\r\n:8\r\n");
  EXPECT_EQ(reader.next().value()->integer(), 7);
  EXPECT_EQ(reader.next().value()->integer(), 8);
}

TEST(Reader, RefusesWhatIsNoRedisReply) {
  for (const std::string& bytes :
       {"HTTP/1.1 400 Bad Request\r\n\r\n"s, "SSH-2.0-OpenSSH_9.2\r\n"s, "\x15\x03\x01\x00\x02"s,
        ":seven\r\n"s, "$-7\r\n\r\n"s, "*x\r\n"s}) {
    const Status status = failure_of(bytes);
    EXPECT_EQ(status.code(), Code::kUnreachable) << bytes;
    EXPECT_EQ(status.message().rfind("not a Redis reply", 0), 0U) << status.message();
  }
}

TEST(Reader, StaysOfNoUseOnceItFailed) {
  Reader reader;
  feed(reader, ":1\r\nnonsense\r\n");
  ASSERT_TRUE(reader.next().ok());
  ASSERT_FALSE(reader.next().ok());
  feed(reader, ":1\r\n");
  EXPECT_FALSE(reader.next().ok());
}

TEST(Reader, RefusesAReplyOver64MiB) {
  Reader reader;
  feed(reader, "$" + std::to_string(70 << 20) + "\r\n");
  const std::string chunk(1 << 20, 'x');
  int fed = 0;
  while (fed < 70 && reader.next().ok()) {
    feed(reader, chunk);
    ++fed;
  }
  EXPECT_EQ(fed, 64);
  EXPECT_NE(reader.next().status().message().find("64 MiB"), std::string::npos);
}

TEST(Reader, ManyRepliesOver64MiBAreFine) {
  Reader reader;
  const std::string bytes = "$1048576\r\n" + std::string(1 << 20, 'x') + "\r\n";
  for (int i = 0; i < 80; ++i) {
    feed(reader, bytes);
    const auto next = reader.next();
    ASSERT_TRUE(next.ok() && next.value()) << i;
    ASSERT_TRUE(reader.next().ok()) << i;
  }
}

TEST(Reader, RefusesArraysThatAreAnnouncedTooLargeOrTooDeep) {
  EXPECT_FALSE(failure_of("*2000000\r\n").ok());
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "*1\r\n";
  EXPECT_FALSE(failure_of(deep).ok());
}

// Whatever comes, the reader answers with replies or a failure (the sanitizers watch).
TEST(Reader, SurvivesNoise) {
  std::mt19937 random(1);
  const std::string seed =
      "*3\r\n$5\r\nhello\r\n:12\r\n%1\r\n+a\r\n#t\r\n>2\r\n_\r\n,1.5\r\n-ERR x\r\n";
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = seed;
    for (int i = 0; i < 3; ++i) {
      bytes[random() % bytes.size()] =
          static_cast<char>(random() % 4 == 0 ? random() : '0' + random() % 10);
    }
    Reader reader;
    feed(reader, bytes);
    for (;;) {
      const auto next = reader.next();
      if (!next.ok()) ++refused;
      if (!next.ok() || !next.value()) break;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(PlainBeginning, IsTheFirstReplyAndItsSize) {
  const PlainBeginning number = plain_beginning(":17\r\n:3\r\n");
  EXPECT_EQ(number.reply.integer, 17);
  EXPECT_EQ(number.size, 5U);
  const PlainBeginning nil = plain_beginning("$-1\r\n-ERR no\r\n");
  EXPECT_FALSE(nil.reply.integer);
  EXPECT_EQ(nil.size, 5U);
  EXPECT_EQ(plain_beginning("_\r\n:1\r\n").size, 3U);
}

TEST(PlainBeginning, IsAShortTextAsLongAsItsSizeSays) {
  const PlainBeginning token = plain_beginning("$3\r\n1\r\n\r\n:3\r\n");
  EXPECT_EQ(token.reply.kind(), ReplyKind::kText);
  EXPECT_EQ(token.reply.text(), "1\r\n");
  EXPECT_EQ(token.size, 9U);
  EXPECT_EQ(plain_beginning("$0\r\n\r\n").reply.text(), "");
  EXPECT_EQ(plain_beginning("$20\r\n12345678901234567890\r\n").reply.text(),
            "12345678901234567890");
  EXPECT_EQ(plain_beginning("$21\r\n123456789012345678901\r\n").size, 0U);
}

TEST(PlainBeginning, IsAnArrayOfTwoIntegers) {
  const PlainBeginning pair = plain_beginning("*2\r\n:-3\r\n:3000\r\n:7\r\n");
  EXPECT_EQ(pair.size, 16U);
  const Reply reply(pair.reply);
  EXPECT_EQ(reply.kind(), ReplyKind::kArray);
  EXPECT_TRUE(reply.is_array());
  EXPECT_FALSE(reply.is_integer());
  EXPECT_FALSE(reply.is_nil());
  EXPECT_EQ(reply.integer(), 0);
  EXPECT_EQ(reply.size(), 2U);
  EXPECT_EQ(reply.integer_at(0), -3);
  EXPECT_EQ(reply.integer_at(1), 3000);
  EXPECT_EQ(reply.at(1).integer(), 3000);
  EXPECT_TRUE(reply.at(2).is_nil());
  EXPECT_TRUE(reply.at(2).is_nil());
  EXPECT_EQ(reply.text_at(0), "");
}

TEST(PlainReply, OfATextKeepsItAfterAMove) {
  std::string bytes = "$2\r\n17\r\n";
  Reply first(plain_beginning(bytes).reply);
  bytes.assign(bytes.size(), 'x');
  const Reply second(std::move(first));
  EXPECT_EQ(second.text(), "17");
  EXPECT_EQ(second.kind(), ReplyKind::kText);
  EXPECT_FALSE(second.is_nil());
}

TEST(PlainBeginning, IsNoneOfOtherRepliesAndOfPieces) {
  for (const char* bytes : {"", ":1", ":1\r", "-ERR no\r\n", "+OK\r\n", "$2\r\n17\r",
                            "$2\r\n1\r\n:1\r\n", "$1\r\n17\r\n", "$-2\r\n", "*0\r\n", "*2\r\n",
                            "*2\r\n:1\r\n", "*2\r\n:1\r\n:2", "*2\r\n:1\r\n$1\r\n2\r\n",
                            "*2\r\n$-1\r\n:1\r\n", "*3\r\n:1\r\n:2\r\n:3\r\n", "*1\r\n:1\r\n"}) {
    EXPECT_EQ(plain_beginning(bytes).size, 0U) << bytes;
  }
}

}  // namespace
}  // namespace holdfast::resp
