#include <gtest/gtest.h>

#include <string>

#include "redis/topology/slot_map.h"

namespace holdfast::topology {
namespace {

TEST(SlotTest, IsTheCrcOfTheKey) {
  EXPECT_EQ(slot_of("123456789"), 0x31c3);  // the check value of CRC16/XMODEM
  EXPECT_EQ(slot_of("foo"), 12182);         // as CLUSTER KEYSLOT answers
  EXPECT_EQ(slot_of("myLock"), 12769);
  EXPECT_EQ(slot_of(""), 0);
  EXPECT_EQ(slot_of(std::string("\xff\x00\x80", 3)), 7915);
}

TEST(SlotTest, IsThatOfTheTag) {
  EXPECT_EQ(slot_of("{foo}"), slot_of("foo"));
  EXPECT_EQ(slot_of("prefix:{foo}:suffix"), slot_of("foo"));
  EXPECT_EQ(slot_of("{foo}{bar}"), slot_of("foo"));
  EXPECT_EQ(slot_of("{{foo}}"), slot_of("{foo"));
}

TEST(SlotTest, IsThatOfTheWholeKeyWithoutATag) {
  EXPECT_NE(slot_of("{}foo"), slot_of("foo"));
  EXPECT_NE(slot_of("{}{foo}"), slot_of("foo"));
  EXPECT_NE(slot_of("a{foo"), slot_of("foo"));
  EXPECT_NE(slot_of("a}b{foo"), slot_of("foo"));
}

}  // namespace
}  // namespace holdfast::topology
