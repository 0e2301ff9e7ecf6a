#include "redis/resp/command.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::resp {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace)

TEST(Command, IsAnArrayOfStrings) {
  EXPECT_EQ(Command({"SET", "key", "value"}).bytes(),
            "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n");
}

TEST(Command, ArgumentsMayHoldAnyByte) {
  const std::string odd = "\r\n\0\xFF%s"s;
  EXPECT_EQ(Command({"GET", odd}).bytes(), "*2\r\n$3\r\nGET\r\n$6\r\n"s + odd + "\r\n");
}

TEST(Command, ArgumentsMayBeEmpty) {
  EXPECT_EQ(Command({"ECHO", std::string_view()}).bytes(), "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n");
}

TEST(Command, TheWaysToMakeOneAgree) {
  const std::vector<std::string_view> args = {"EVALSHA", "abc", "1", "key"};
  EXPECT_EQ(Command(args).bytes(), Command({"EVALSHA", "abc", "1", "key"}).bytes());
  EXPECT_TRUE(Command().bytes().empty());
}

}  // namespace
}  // namespace holdfast::resp
