#include <gtest/gtest.h>

#include <string_view>

#include "redis/resp/reply.h"

namespace holdfast::resp {
namespace {

constexpr ReplyKinds kGrant = (ReplyKind::kNil | ReplyKind::kInteger).within(-1, ReplyKinds::kMost);
constexpr ReplyKinds kToken = ReplyKinds(ReplyKind::kText).decimal();
constexpr ReplyKinds kArrays = ReplyKinds(ReplyKind::kArray);

// As a whole, and, where it is plain, as that.
bool allows(ReplyKinds kinds, std::string_view bytes) {
  Reader reader;
  reader.feed(bytes.data(), bytes.size());
  const Result<std::optional<Reply>> reply = reader.next();
  const bool allowed = kinds.allow(*reply.value());
  if (const PlainBeginning plain = plain_beginning(bytes); plain.size == bytes.size()) {
    EXPECT_EQ(kinds.allow(plain.reply), allowed) << bytes;
  }
  return allowed;
}

TEST(ReplyKindsTest, ANumberIsWithinItsRange) {
  EXPECT_TRUE(allows(kGrant, "$-1\r\n"));
  EXPECT_TRUE(allows(kGrant, ":-1\r\n"));
  EXPECT_FALSE(allows(kGrant, ":-2\r\n"));
  EXPECT_TRUE(allows(kGrant, ":9223372036854775807\r\n"));
  EXPECT_FALSE(allows(kGrant.within(0, 1), ":2\r\n"));
  EXPECT_FALSE(allows(kGrant, "$1\r\n1\r\n"));
  EXPECT_TRUE(allows(kGrant, "-ERR any\r\n"));
}

TEST(ReplyKindsTest, ATokenIsAnInteger) {
  EXPECT_TRUE(allows(kToken, "$1\r\n7\r\n"));
  EXPECT_TRUE(allows(kToken, "$2\r\n-7\r\n"));
  for (const char* text : {"$2\r\nhi\r\n", "$2\r\n7x\r\n", "$0\r\n\r\n",
                           "$20\r\n99999999999999999999\r\n", "$3\r\n 12\r\n"}) {
    EXPECT_FALSE(allows(kToken, text)) << text;
  }
}

TEST(ReplyKindsTest, PlacesAreThoseOfTheBatchOnceAndInOrder) {
  const ReplyKinds places = kArrays.arrays_of(ReplyKinds::Array::kPlaces).about(2);
  EXPECT_TRUE(allows(places, "*0\r\n"));
  EXPECT_TRUE(allows(places, "*1\r\n:2\r\n"));
  EXPECT_TRUE(allows(places, "*2\r\n:1\r\n:2\r\n"));
  for (const char* text :
       {"*1\r\n:3\r\n", "*1\r\n:0\r\n", "*1\r\n:-1\r\n", "*2\r\n:1\r\n:1\r\n", "*2\r\n:2\r\n:1\r\n",
        "*1\r\n$1\r\n1\r\n", "*1\r\n$-1\r\n", "*3\r\n:1\r\n:2\r\n:3\r\n"}) {
    EXPECT_FALSE(allows(places, text)) << text;
  }
}

TEST(ReplyKindsTest, OneNumberForEachOfTheBatch) {
  const ReplyKinds each = kArrays.arrays_of(ReplyKinds::Array::kEach).about(2);
  EXPECT_TRUE(allows(each, "*2\r\n:0\r\n:5\r\n"));
  for (const char* text : {"*1\r\n:1\r\n", "*3\r\n:1\r\n:1\r\n:1\r\n", "*2\r\n:1\r\n:-1\r\n"}) {
    EXPECT_FALSE(allows(each, text)) << text;
  }
}

TEST(ReplyKindsTest, AFewAreTwoNumbersOrThree) {
  const ReplyKinds few = kArrays.arrays_of(ReplyKinds::Array::kFew);
  EXPECT_TRUE(allows(few, "*2\r\n:-4\r\n:-1\r\n"));
  EXPECT_TRUE(allows(few, "*3\r\n:-4\r\n:-1\r\n:5\r\n"));
  EXPECT_FALSE(allows(few, "*1\r\n:1\r\n"));
  EXPECT_FALSE(allows(few, "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n"));
  EXPECT_FALSE(allows(few, "*2\r\n:1\r\n$1\r\n1\r\n"));
}

// A tag and what comes with it.
constexpr ReplyKinds kTagged[] = {
    ReplyKinds(ReplyKind::kInteger).within(0, ReplyKinds::kMost),
    ReplyKinds(ReplyKind::kText).decimal(),
    ReplyKinds(ReplyKind::kInteger).within(-2, -2),
    ReplyKind::kText,
    ReplyKinds(ReplyKind::kInteger).within(-3, -3),
    ReplyKinds(ReplyKind::kInteger).within(0, 0),
};
constexpr ArrayRow kTaggedRows[] = {{kTagged, 2, 0}, {kTagged + 2, 2, 0}, {kTagged + 4, 2, 0}};
constexpr ArrayShape kTaggedShape(kTaggedRows);

TEST(ReplyKindsTest, ArraysDifferByTheirTag) {
  const ReplyKinds tagged = kArrays.arrays_of(kTaggedShape);
  for (const char* text :
       {"*2\r\n:0\r\n$1\r\n7\r\n", "*2\r\n:-2\r\n$2\r\nhi\r\n", "*2\r\n:-3\r\n:0\r\n"}) {
    EXPECT_TRUE(allows(tagged, text)) << text;
  }
  for (const char* text :
       {"*2\r\n:0\r\n$2\r\nhi\r\n", "*2\r\n:-1\r\n$1\r\n7\r\n", "*2\r\n:-2\r\n:0\r\n",
        "*2\r\n:-3\r\n:1\r\n", "*2\r\n:-3\r\n$-1\r\n", "*1\r\n:-3\r\n", "*0\r\n", "$-1\r\n",
        "*3\r\n:-3\r\n:0\r\n:0\r\n", ":-3\r\n", "*2\r\n:-2\r\n-ERR x\r\n", "*2\r\n:7\r\n:7\r\n"}) {
    EXPECT_FALSE(allows(tagged, text)) << text;
  }
}

TEST(ReplyKindsTest, ElementsComeAnyNumberOfTimes) {
  static constexpr ArrayRow rows[] = {{kTagged, 2, 1}};
  static constexpr ArrayShape shape(rows);
  const ReplyKinds repeated = kArrays.arrays_of(shape);
  for (const char* text : {"*1\r\n:7\r\n", "*3\r\n:7\r\n$1\r\n7\r\n$1\r\n8\r\n"}) {
    EXPECT_TRUE(allows(repeated, text)) << text;
  }
  for (const char* text : {"*0\r\n", "*3\r\n:7\r\n$1\r\n7\r\n$1\r\nx\r\n", "*2\r\n:7\r\n:7\r\n"}) {
    EXPECT_FALSE(allows(repeated, text)) << text;
  }
  EXPECT_FALSE(allows(repeated.about(1), "*2\r\n:7\r\n$1\r\n7\r\n"));
  EXPECT_TRUE(allows(repeated.about(2), "*2\r\n:7\r\n$1\r\n7\r\n"));
}

TEST(ReplyKindsTest, AStatusIsAWordInCapitals) {
  const ReplyKinds text = ReplyKind::kText;
  EXPECT_FALSE(allows(text, "+OK\r\n"));
  EXPECT_TRUE(allows(text, "+Ada\r\n"));
  EXPECT_TRUE(allows(text, "+\r\n"));
  EXPECT_TRUE(allows(ReplyKind::kStatus, "+OK\r\n"));
}

}  // namespace
}  // namespace holdfast::resp
