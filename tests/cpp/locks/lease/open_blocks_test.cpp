// Blocks that lost their grants, and what an acquire would hide.

#include "locks/lease/open_blocks.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "locks/lease/keeper_fixture.h"

namespace holdfast::lease {
namespace {

using Attempted = AttemptPlan::Kind;
using Released = ReleasePlan::Kind;

constexpr const char* kReason = "it is gone";

class OpenBlocksTest : public LeaseKeeperTest {
 protected:
  // A grant to Alice, as an acquire has it.
  void take(const LockName& of, bool block, Lease lease = {kLease, true}) {
    Attempt attempt(keeper(), of, kAlice);
    const AttemptPlan plan = attempt.begin();
    ASSERT_EQ(plan.kind, Attempted::kBegun);
    Grant granted{of, kAlice, plan.count, lease, world.now(), &sync::lock_recipe()};
    granted.at = world.now();
    granted.block = block;
    ASSERT_TRUE(attempt.granted(granted));
  }
  void enter() { take(name, true); }
  void acquire() { take(name, false); }
  Released leave() { return keeper().releases.end_block(name, kAlice, {}).kind; }
  void lose() { keeper().lose(name, kAlice, kReason); }
  void force() {
    excuse(keeper(), name, kAlice, true);
    forced(keeper(), name, world.now());
  }
  bool refused() { return attempt(kAlice).kind == Attempted::kLost; }
};

TEST_F(OpenBlocksTest, ALostBlockRefusesUntilItsEnd) {
  enter();
  enter();
  lose();
  EXPECT_TRUE(refused());
  EXPECT_TRUE(Attempt(keeper(), name, kAlice).refuse());
  EXPECT_TRUE(refused());
  EXPECT_EQ(leave(), Released::kLost);
  EXPECT_TRUE(refused());
  EXPECT_EQ(leave(), Released::kLost);
  EXPECT_FALSE(refused());
  EXPECT_EQ(leave(), Released::kNotOwned);
}

TEST_F(OpenBlocksTest, OutsideOfBlocksALossRefusesOnce) {
  acquire();
  lose();
  EXPECT_TRUE(refused());
  EXPECT_TRUE(Attempt(keeper(), name, kAlice).refuse());
  EXPECT_FALSE(refused());
  EXPECT_FALSE(Attempt(keeper(), name, kAlice).refuse());
}

TEST_F(OpenBlocksTest, AReleaseThatRaisedTheLossLeavesNothingToRefuse) {
  acquire();
  lose();
  EXPECT_EQ(keeper().releases.begin(name, kAlice, {}).kind, Released::kLost);
  EXPECT_FALSE(refused());
}

TEST_F(OpenBlocksTest, AFixedLeaseThatRanOutIsOver) {
  take(name, false, {kLease, false});
  pass(kLease + kSoon);
  EXPECT_TRUE(keeper().known(name, kAlice).lost);
  EXPECT_FALSE(refused());
}

TEST_F(OpenBlocksTest, OfABlockItIsALoss) {
  take(name, true, {kLease, false});
  pass(kLease + kSoon);
  EXPECT_TRUE(refused());
  EXPECT_EQ(leave(), Released::kLost);
  EXPECT_FALSE(refused());
}

TEST_F(OpenBlocksTest, AnotherOwnerIsNotRefused) {
  enter();
  lose();
  EXPECT_EQ(attempt(kBob).kind, Attempted::kBegun);
}

TEST_F(OpenBlocksTest, TheSidesOfANameAreOneOwner) {
  const LockName read(name, Side::kRead);
  const LockName write(name, Side::kWrite);
  take(read, true);
  keeper().lose(read, kAlice, kReason);
  Attempt writes(keeper(), write, kAlice);
  EXPECT_EQ(writes.begin().kind, Attempted::kLost);
  EXPECT_EQ(keeper().releases.end_block(read, kAlice, {}).kind, Released::kLost);
  EXPECT_EQ(writes.begin().kind, Attempted::kBegun);
}

TEST_F(OpenBlocksTest, WhatIsTakenAgainInsideIsTheBlocksOwn) {
  enter();
  release(kAlice);
  EXPECT_FALSE(refused());
  acquire();
  lose();
  EXPECT_TRUE(refused());
  EXPECT_EQ(leave(), Released::kLost);
  EXPECT_FALSE(refused());
}

TEST_F(OpenBlocksTest, ItsLossRefusesUntilItsEndWhateverHasRaisedIt) {
  enter();
  release(kAlice);
  acquire();
  lose();
  EXPECT_TRUE(refused());
  EXPECT_EQ(keeper().releases.begin(name, kAlice, {}).kind, Released::kLost);
  EXPECT_TRUE(refused());
  EXPECT_EQ(leave(), Released::kLost);
  EXPECT_FALSE(refused());
  acquire();
  release(kAlice);
  EXPECT_FALSE(keeper().known(name, kAlice).lost);
}

TEST_F(OpenBlocksTest, TheEndOfALaterBlockLeavesTheEarlierOneLost) {
  enter();
  release(kAlice);
  enter();
  lose();
  EXPECT_EQ(leave(), Released::kLost);
  EXPECT_TRUE(refused());
  EXPECT_EQ(leave(), Released::kLost);
  EXPECT_FALSE(refused());
}

TEST_F(OpenBlocksTest, AReleaseThatFindsNothingLeavesItsBlockLost) {
  enter();
  const ReleasePlan plan = keeper().releases.begin(name, kAlice, {});
  keeper().releases.done(name, kAlice, plan, kReason);
  EXPECT_TRUE(refused());
  EXPECT_EQ(leave(), Released::kLost);
  EXPECT_FALSE(refused());
}

TEST_F(OpenBlocksTest, ABlockThatEndsBesideAnAttemptIsOver) {
  enter();
  {
    Attempt nested(keeper(), name, kAlice);
    ASSERT_EQ(nested.begin().kind, Attempted::kBegun);
    EXPECT_EQ(leave(), Released::kUnderWay);
  }
  lose();
  EXPECT_EQ(keeper().releases.begin(name, kAlice, {}).kind, Released::kLost);
  EXPECT_FALSE(refused());
}

TEST_F(OpenBlocksTest, ALostBlockThatEndsBesideAnAttemptLeavesItsGrant) {
  enter();
  force();
  Attempt again(keeper(), name, kAlice);
  ASSERT_EQ(again.begin().kind, Attempted::kBegun);
  const ReleasePlan plan = keeper().releases.end_block(name, kAlice, {});
  EXPECT_EQ(plan.kind, Released::kLost);
  EXPECT_TRUE(plan.held_again);
}

TEST_F(OpenBlocksTest, AGrantWithoutACallerOpensNoBlock) {
  acquire();
  enter();
  Attempt(keeper(), name, kAlice).forget_block();
  keeper().releases.begin_giving_back(name, kAlice, {});
  lose();
  EXPECT_TRUE(Attempt(keeper(), name, kAlice).refuse());
  EXPECT_FALSE(refused());
}

TEST_F(OpenBlocksTest, TheOwnersOwnForceRefusesNothingAndItsBlockReleasesNothing) {
  enter();
  force();
  EXPECT_FALSE(refused());
  acquire();
  EXPECT_EQ(leave(), Released::kLost);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(OpenBlocksTest, ALossThatIsFoundBeforeTheReplyOfTheOwnersOwnForceRefusesNothing) {
  enter();
  excuse(keeper(), name, kAlice, true);
  lose();
  EXPECT_FALSE(refused());
  EXPECT_EQ(leave(), Released::kLost);
  EXPECT_FALSE(refused());
}

TEST_F(OpenBlocksTest, ALossAfterAnOwnForceThatRemovedNothingRefuses) {
  enter();
  excuse(keeper(), name, kAlice, true);
  excuse(keeper(), name, kAlice, false);
  lose();
  EXPECT_TRUE(refused());
}

TEST_F(OpenBlocksTest, ALostBlockLeavesALaterReleaseThatIsUnderWay) {
  enter();
  force();
  acquire();
  ReleasePlan later = keeper().releases.begin(name, kAlice, {}, {{}, Releases::Caller::kMayLeave});
  ASSERT_TRUE(keeper().releases.defer(name, kAlice, later));
  const ReleasePlan plan = keeper().releases.end_block(name, kAlice, {});
  EXPECT_EQ(plan.kind, Released::kLost);
  EXPECT_TRUE(plan.held_again);
}

TEST_F(OpenBlocksTest, LossesEndWithTheirOwner) {
  enter();
  lose();
  owner_ended(keeper(), kAlice);
  EXPECT_FALSE(refused());
  EXPECT_FALSE(keeper().known(name, kAlice).lost);
}

TEST_F(OpenBlocksTest, ALostBlockIsKnownUntilItsEndWhateverIsLostLater) {
  constexpr int kMoreThanTheTableKeeps = 10'002;
  enter();
  lose();
  for (int i = 0; i < kMoreThanTheTableKeeps; ++i) {
    const LockName other("other " + std::to_string(i));
    take(other, false);
    keeper().lose(other, kAlice, kReason);
  }
  EXPECT_TRUE(keeper().known(name, kAlice).lost);
  EXPECT_TRUE(refused());
  EXPECT_EQ(leave(), Released::kLost);
  EXPECT_FALSE(keeper().known(name, kAlice).lost);
}

}  // namespace
}  // namespace holdfast::lease
