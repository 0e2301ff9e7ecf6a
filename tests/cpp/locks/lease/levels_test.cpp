#include <gtest/gtest.h>

#include "locks/lease/hold.h"

namespace holdfast::lease {
namespace {

TEST(Levels, AreRenewedAsLongAsOneOfThemIs) {
  Levels levels;
  EXPECT_FALSE(levels.renewed());
  levels.push(false, 0);
  EXPECT_FALSE(levels.renewed());
  levels.push(true, 0);
  levels.push(false, 0);
  EXPECT_TRUE(levels.renewed());
  levels.set_count(2);
  EXPECT_TRUE(levels.renewed());
  levels.set_count(1);
  EXPECT_FALSE(levels.renewed());
  EXPECT_EQ(levels.count(), 1);
}

TEST(Levels, KnowEachLevel) {
  Levels levels;
  for (const bool renewed : {true, false, true}) levels.push(renewed, 0);
  EXPECT_TRUE(levels.renewed_at(0));
  EXPECT_FALSE(levels.renewed_at(1));
  EXPECT_TRUE(levels.renewed_at(2));
  levels.all_leased();
  for (const int level : {0, 1, 2}) EXPECT_FALSE(levels.renewed_at(level));
  EXPECT_FALSE(levels.renewed());
  EXPECT_EQ(levels.count(), 3);
}

TEST(Levels, OnesThatOnlyTheServerKnowsHaveALease) {
  Levels levels;
  levels.set_count(2);
  levels.push(true, 0);
  EXPECT_EQ(levels.count(), 3);
  EXPECT_FALSE(levels.renewed_at(0));
  EXPECT_FALSE(levels.renewed_at(1));
  EXPECT_TRUE(levels.renewed_at(2));
}

TEST(Levels, AnOutermostOneThatEndedIsForgotten) {
  Levels levels;
  levels.push(true, 0);
  levels.set_count(0);
  EXPECT_FALSE(levels.renewed());
  levels.push(false, 0);
  EXPECT_FALSE(levels.renewed());
  EXPECT_FALSE(levels.renewed_at(0));
}

TEST(Levels, AReleaseEndsOnlyWhatWasTakenForIt) {
  using How = Ending::How;
  constexpr WholeId kWhole = 7;
  Levels levels;
  for (const WholeId whole : {kWhole, WholeId{0}, kWhole}) levels.push(whole == 0, whole);
  EXPECT_EQ(levels.count_of({How::kWhole, kWhole}), 2);
  EXPECT_EQ(levels.count_of({How::kWhole, 8}), 0);
  EXPECT_EQ(levels.count_of({}), 1);
  levels.end({How::kInnermost, kWhole});
  EXPECT_EQ(levels.count_of({How::kWhole, kWhole}), 1);
  levels.end({});
  EXPECT_FALSE(levels.renewed());
  EXPECT_EQ(levels.count_of({How::kWhole, kWhole}), 1);
  levels.end({});  // there is no other one
  EXPECT_EQ(levels.count(), 0);
}

}  // namespace
}  // namespace holdfast::lease
