#include <gtest/gtest.h>

#include <string>

#include "redis/base/status.h"

namespace holdfast {
namespace {

TEST(Shown, LeavesWhatPeopleCanReadAsItIs) {
  for (const std::string name :
       {"order:{42}", "\xc3\xbcn\xc3\xaf \xe2\x98\x83 \xf0\x9f\x94\x92", "c:\\temp", "'\"`$", ""}) {
    EXPECT_EQ(shown(name), name);
  }
}

TEST(Shown, EscapesControlCharacters) {
  EXPECT_EQ(shown(std::string("a\0b\x1b[2J\r\n\x7f", 10)), "a\\x00b\\x1b[2J\\x0d\\x0a\\x7f");
  EXPECT_EQ(shown("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(quoted("a\tb"), "'a\\x09b'");
}

TEST(Shown, EscapesWhatIsInvisibleOrTurnsTheText) {
  EXPECT_EQ(shown("\xe2\x80\xae"), "\\xe2\\x80\\xae");           // right to left
  EXPECT_EQ(shown("\xe2\x80\x8b"), "\\xe2\\x80\\x8b");           // no width
  EXPECT_EQ(shown("\xe2\x80\xa8"), "\\xe2\\x80\\xa8");           // separator of lines
  EXPECT_EQ(shown("\xef\xbb\xbf"), "\\xef\\xbb\\xbf");           // byte order mark
  EXPECT_EQ(shown("\xf3\xa0\x81\x81"), "\\xf3\\xa0\\x81\\x81");  // tag
}

TEST(Shown, EscapesEachByteThatIsNotUtf8) {
  EXPECT_EQ(shown("\xff\x80z"), "\\xff\\x80z");
  EXPECT_EQ(shown("\xc0\x80"), "\\xc0\\x80");                    // too long
  EXPECT_EQ(shown("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(shown("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  EXPECT_EQ(shown("\xe2\x98"), "\\xe2\\x98");                    // cut off
  EXPECT_EQ(shown("\xe2\x98z"), "\\xe2\\x98z");
}

}  // namespace
}  // namespace holdfast
