#include "redis/topology/slot_map.h"

#include <gtest/gtest.h>

namespace holdfast::topology {
namespace {

constexpr ServerNumber kOld = 1;
constexpr ServerNumber kNew = 2;
constexpr ServerNumber kNewer = 3;
constexpr Slot kSlot = 7;

class SlotMapTest : public ::testing::Test {
 protected:
  std::uint64_t the_fence(ServerNumber at) {
    const auto fences = map.take_fences();
    EXPECT_EQ(fences.size(), 1U);
    if (fences.empty()) return 0;
    EXPECT_EQ(fences[0].at, at);
    return fences[0].id;
  }

  SlotMap map;
};

TEST_F(SlotMapTest, AtFirstSlotsHaveNoOwner) {
  EXPECT_EQ(map.primary(kSlot), 0U);
  EXPECT_EQ(map.target(kSlot), 0U);
  EXPECT_TRUE(map.servers().empty());
}

TEST_F(SlotMapTest, TheFirstOwnerNeedsNoFence) {
  EXPECT_TRUE(map.assign(kSlot, kOld));
  EXPECT_FALSE(map.assign(kSlot, kOld));
  EXPECT_EQ(map.primary(kSlot), kOld);
  EXPECT_TRUE(map.take_fences().empty());
}

TEST_F(SlotMapTest, ASlotThatChangesHandsHasNoOwnerUntilTheFenceIsPassed) {
  map.assign(kSlot, kOld);
  EXPECT_TRUE(map.assign(kSlot, kNew));
  EXPECT_EQ(map.primary(kSlot), 0U);
  EXPECT_EQ(map.target(kSlot), kNew);
  EXPECT_TRUE(map.leaving(kOld));
  const std::uint64_t fence = the_fence(kOld);
  EXPECT_TRUE(map.take_fences().empty());
  EXPECT_TRUE(map.passed(fence));
  EXPECT_EQ(map.primary(kSlot), kNew);
  EXPECT_FALSE(map.leaving(kOld));
}

TEST_F(SlotMapTest, OneFenceIsEnoughForAllSlotsOfAServer) {
  for (const Slot slot : {kSlot, Slot(8)}) map.assign(slot, kOld);
  for (const Slot slot : {kSlot, Slot(8)}) map.assign(slot, kNew);
  EXPECT_TRUE(map.passed(the_fence(kOld)));
  EXPECT_EQ(map.primary(8), kNew);
}

TEST_F(SlotMapTest, AFenceIsGoodOnlyForWhatLeftBeforeIt) {
  for (const Slot slot : {kSlot, Slot(8)}) map.assign(slot, kOld);
  map.assign(kSlot, kNew);
  const std::uint64_t first = the_fence(kOld);
  map.assign(8, kNew);
  const std::uint64_t second = the_fence(kOld);
  map.passed(first);
  EXPECT_EQ(map.primary(kSlot), kNew);
  EXPECT_EQ(map.primary(8), 0U);
  map.passed(second);
  EXPECT_EQ(map.primary(8), kNew);
}

TEST_F(SlotMapTest, WhatMovesOnMeanwhileNeedsAFenceAtEachStation) {
  map.assign(kSlot, kOld);
  map.assign(kSlot, kNew);
  const std::uint64_t first = the_fence(kOld);
  EXPECT_TRUE(map.assign(kSlot, kNewer));
  EXPECT_TRUE(map.take_fences().empty());
  EXPECT_FALSE(map.passed(first));
  EXPECT_EQ(map.primary(kSlot), 0U);
  EXPECT_TRUE(map.passed(the_fence(kNew)));
  EXPECT_EQ(map.primary(kSlot), kNewer);
}

TEST_F(SlotMapTest, ASlotThatComesBackWaitsForBoth) {
  map.assign(kSlot, kOld);
  map.assign(kSlot, kNew);
  const std::uint64_t first = the_fence(kOld);
  map.assign(kSlot, kOld);
  EXPECT_FALSE(map.passed(first));
  EXPECT_TRUE(map.passed(the_fence(kNew)));
  EXPECT_EQ(map.primary(kSlot), kOld);
}

TEST_F(SlotMapTest, ThoseThatHaveSlotsAreThoseThatWillHaveThem) {
  map.assign(kSlot, kOld);
  map.assign(8, kOld);
  map.assign(kSlot, kNew);
  EXPECT_EQ(map.servers(), (std::set<ServerNumber>{kOld, kNew}));
  map.assign(8, kNew);
  EXPECT_EQ(map.servers(), std::set<ServerNumber>{kNew});
}

}  // namespace
}  // namespace holdfast::topology
