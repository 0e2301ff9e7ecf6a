// Waiters in turn that need different numbers of permits.

#include <memory>

#include "locks/wait/registry_fixture.h"

namespace holdfast::wait {
namespace {

class PermitsInTurnTest : public WaitRegistryTest {
 protected:
  // What each of the three needs.
  void wants(std::int64_t one, std::int64_t two, std::int64_t three) {
    first->wants = one;
    second->wants = two;
    third->wants = three;
  }
};

TEST_F(PermitsInTurnTest, ANewcomerHoldsBackBehindOneThatNeedsNoMore) {
  wants(3, 3, 3);
  queue({first});
  EXPECT_EQ(registry.holds_back(kChannel, 3), kNever);
  EXPECT_EQ(registry.holds_back(kChannel, 4), kNever);
  EXPECT_EQ(registry.holds_back(kChannel, 2), TimePoint{});
  second->wants = 1;
  (void)registry.join(kChannel, second, {});
  EXPECT_EQ(registry.holds_back(kChannel, 2), kNever);
}

TEST_F(PermitsInTurnTest, AMessageIsForTheHeadWhateverItSays) {
  wants(5, 1, 1);
  queue({first, second, third});
  for (const char* payload : {"1", "0", "9"}) registry.message(kChannel, payload).run();
  EXPECT_EQ(first->notified, (Notified{"signal", "signal", "signal"}));
  EXPECT_EQ(second->notified, Notified{});
}

TEST_F(PermitsInTurnTest, WhatIsTooLittleForTheHeadIsForThoseBehind) {
  wants(5, 2, 1);
  queue({first, second, third});
  registry.left_over(kChannel, 3).run();
  EXPECT_EQ(first->notified, Notified{});
  EXPECT_EQ(second->notified, Notified{"signal"});
  EXPECT_EQ(third->notified, Notified{"signal"});
}

TEST_F(PermitsInTurnTest, NoMoreAreNotifiedThanThereArePermitsFor) {
  wants(5, 2, 1);
  queue({first, second, third});
  registry.left_over(kChannel, 1).run();
  EXPECT_EQ(second->notified, Notified{});
  EXPECT_EQ(third->notified, Notified{"signal"});
  registry.left_over(kChannel, 2).run();
  EXPECT_EQ(second->notified, Notified{"signal"});
  EXPECT_EQ(third->notified, Notified{"signal"});
}

TEST_F(PermitsInTurnTest, OneThatNeedsLessThanAllAheadLooksAgainWhenItJoins) {
  wants(5, 2, 1);
  queue({first});
  const auto seen = registry.sequence(kChannel);
  registry.message(kChannel, "2").run();
  EXPECT_EQ(registry.join(kChannel, second, seen), Place::kTryNow);
  EXPECT_EQ(registry.join(kChannel, third, registry.sequence(kChannel)), Place::kHead);
}

TEST_F(PermitsInTurnTest, OneBehindAnotherThatNeedsNoMoreSleeps) {
  wants(5, 1, 2);
  queue({first, second});
  EXPECT_EQ(registry.join(kChannel, third, {}), Place::kQueued);
}

TEST_F(PermitsInTurnTest, TheHeadLooksAgainWhenOneBehindLeavesWithASignal) {
  wants(5, 2, 1);
  queue({first, second, third});
  leave(*second, LeaveReason::kTrying);
  EXPECT_EQ(first->notified, Notified{"signal"});
  leave(*third, LeaveReason::kGaveUp);
  EXPECT_EQ(first->notified, Notified{"signal"});
}

TEST_F(PermitsInTurnTest, OneThatHeldBackBehindALeaverLearnsWhenTheNextPermitExpires) {
  wants(5, 2, 2);
  queue({first, second, third});
  leave(*second, LeaveReason::kGranted);
  EXPECT_EQ(first->notified, Notified{});
  EXPECT_EQ(third->notified, Notified{"turn"});
}

TEST_F(PermitsInTurnTest, AHeadThatLeavesLetsGoWhoNeedsFewerThanTheNextHead) {
  wants(1, 5, 2);
  queue({first, second, third});
  leave(*first, LeaveReason::kGaveUp);
  EXPECT_EQ(second->notified, Notified{"turn"});
  EXPECT_EQ(third->notified, Notified{"turn"});
}

TEST_F(PermitsInTurnTest, OneThatHoldsBackBehindAnotherStillIsNotLetGo) {
  wants(5, 2, 3);
  queue({first, second, third});
  leave(*first, LeaveReason::kGranted);
  EXPECT_EQ(second->notified, Notified{"turn"});
  EXPECT_EQ(third->notified, Notified{});
}

TEST_F(PermitsInTurnTest, ALockThatLeavesTheLineWakesNoOther) {
  queue({first, second, third});
  leave(*second, LeaveReason::kTrying);
  EXPECT_EQ(first->notified, Notified{});
  EXPECT_EQ(third->notified, Notified{});
}

}  // namespace
}  // namespace holdfast::wait
