#include "redis/script/writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace holdfast::script {
namespace {

constexpr resp::ReplyKinds kAny = resp::ReplyKinds::any();
constexpr Script script_with(std::size_t keys, std::size_t args) {
  return {"lock/step", "0123456789012345678901234567890123456789", "return 1", kAny, keys, args};
}

TEST(WriterTest, AScriptGoesByItsSha1) {
  std::string bytes;
  Writer out(bytes, false, "publish");
  out.call(script_with(1, 2)) << "key" << 7 << out.publish();
  EXPECT_EQ(bytes,
            "*6\r\n$7\r\nEVALSHA\r\n$40\r\n0123456789012345678901234567890123456789\r\n"
            "$1\r\n1\r\n$3\r\nkey\r\n$1\r\n7\r\n$7\r\npublish\r\n");
}

TEST(WriterTest, AScriptGoesWithItsTextToAServerThatDoesNotKnowIt) {
  std::string bytes;
  Writer out(bytes, true, "spublish");
  out.call(script_with(0, 1)) << out.publish();
  EXPECT_EQ(bytes, "*4\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n0\r\n$8\r\nspublish\r\n");
}

TEST(WriterTest, AScriptAboutSeveralThingsHasTheirKeysAndArguments) {
  std::string bytes;
  Writer out(bytes, false);
  out.call_about(script_with(0, 0), 2, 3);
  EXPECT_EQ(bytes.substr(0, 4), "*12\r");
  EXPECT_EQ(bytes.substr(bytes.size() - 7), "$1\r\n6\r\n");
  EXPECT_EQ(out.replies(), kAny.about(2));
}

TEST(WriterTest, TheKindsOfReplyAreThoseOfTheLatestCommand) {
  std::string bytes;
  Writer out(bytes, false);
  out.command({"GET", "a"}, resp::ReplyKind::kText);
  EXPECT_EQ(out.replies(), resp::ReplyKinds(resp::ReplyKind::kText));
  Script script = script_with(1, 0);
  script.replies = (resp::ReplyKind::kNil | resp::ReplyKind::kInteger).within(-3, 7);
  out.call(script);
  EXPECT_EQ(out.replies(), script.replies);
  out.expect(0, 2);
  EXPECT_EQ(out.replies(), (resp::ReplyKind::kNil | resp::ReplyKind::kInteger).within(0, 2));
}

TEST(WriterTest, ACommandIsTheSameInBothForms) {
  std::string by_sha1;
  std::string by_text;
  Writer(by_sha1, false).command({"GET", "key"}, kAny);
  Writer(by_text, true).command({"GET", "key"}, kAny);
  EXPECT_EQ(by_sha1, "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n");
  EXPECT_EQ(by_text, by_sha1);
}

TEST(WriterTest, CommandsStandOneBehindTheOther) {
  std::string bytes = "before";
  Writer out(bytes, false);
  out.command({"GET", "a"}, kAny);
  out.command({"GET", "b"}, kAny);
  EXPECT_EQ(bytes, "before*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$3\r\nGET\r\n$1\r\nb\r\n");
}

// A call keeps short parameters until there are enough of them; long ones go at once.
TEST(WriterTest, ParametersOfEachSizeStandInTheirOrder) {
  for (std::size_t size = 0; size < 1100; ++size) {
    const std::string text(size, 'x');
    std::string bytes;
    Writer(bytes, false).call(script_with(0, 3)) << "first" << text << "last";
    const std::string length = std::to_string(size);
    const std::string expected = "$5\r\nfirst\r\n$" + length + "\r\n" + text + "\r\n$4\r\nlast\r\n";
    ASSERT_EQ(bytes.substr(bytes.size() - expected.size()), expected) << size;
  }
}

TEST(WriterTest, NumbersGoInDecimalDigits) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{9}, std::int64_t{10}, std::int64_t{99}, std::int64_t{100},
        std::int64_t{101}, std::int64_t{9999}, std::int64_t{10000}, kMost, std::int64_t{-1},
        std::int64_t{-10}, std::int64_t{-100}, -kMost - 1}) {
    std::string bytes;
    Writer(bytes, false).call(script_with(0, 1)) << number;
    const std::string digits = std::to_string(number);
    const std::string expected = "$" + std::to_string(digits.size()) + "\r\n" + digits + "\r\n";
    EXPECT_EQ(bytes.substr(bytes.size() - expected.size()), expected);
  }
}

}  // namespace
}  // namespace holdfast::script
