// Attempts that are under way: one for each owner and lock.

#include "locks/lease/attempt.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "locks/lease/keeper_fixture.h"

namespace holdfast::lease {
namespace {

using Kind = ReleasePlan::Kind;

class AttemptTest : public LeaseKeeperTest {};

TEST_F(AttemptTest, AnOwnerHasOneForEachLock) {
  const LockName side(name.text(), Side::kWrite);
  const LockName other("other");
  Attempt attempt(keeper(), name, kAlice);
  EXPECT_TRUE(attempt.enter());
  Attempt again(keeper(), name, kAlice);
  EXPECT_FALSE(again.enter());
  EXPECT_FALSE(again.under_way());
  EXPECT_EQ(again.begin().kind, AttemptPlan::Kind::kUnderWay);
  Attempt of_side(keeper(), side, kAlice);
  EXPECT_TRUE(of_side.enter());
  Attempt of_other(keeper(), other, kAlice);
  EXPECT_TRUE(of_other.enter());
  Attempt of_bob(keeper(), name, kBob);
  EXPECT_TRUE(of_bob.enter());
  attempt.end();
  EXPECT_TRUE(again.enter());
  EXPECT_TRUE(keeper().acquiring(side, kAlice));
}

TEST_F(AttemptTest, ItEndsWithItsGrantOrItsScope) {
  {
    Attempt attempt(keeper(), name, kAlice);
    EXPECT_EQ(attempt.begin().kind, AttemptPlan::Kind::kBegun);
    EXPECT_TRUE(acquiring(keeper()));
    EXPECT_TRUE(keeper().acquiring(name, kAlice));
  }
  EXPECT_FALSE(acquiring(keeper()));
  EXPECT_FALSE(keeper().acquiring(name, kAlice));
  renewed(kAlice);
  EXPECT_FALSE(acquiring(keeper()));
  EXPECT_FALSE(keeper().acquiring(name, kAlice));
}

TEST_F(AttemptTest, ItsOwnerReleasesNothingMeanwhile) {
  renewed(kAlice);
  Attempt attempt(keeper(), name, kAlice);
  EXPECT_TRUE(attempt.enter());
  EXPECT_EQ(keeper().releases.begin(name, kAlice, {}).kind, Kind::kUnderWay);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  EXPECT_EQ(keeper().releases.begin_giving_back(name, kAlice, {}).kind, Kind::kFinal);
}

TEST_F(AttemptTest, ItMovesToAnObjectThatLivesLonger) {
  {
    auto attempt = std::make_unique<Attempt>(keeper(), name, kAlice);
    EXPECT_TRUE(attempt->enter());
    const Attempt moved(std::move(*attempt));
    attempt.reset();
    EXPECT_TRUE(moved.under_way());
    EXPECT_TRUE(keeper().acquiring(name, kAlice));
  }
  EXPECT_FALSE(keeper().acquiring(name, kAlice));
  EXPECT_FALSE(acquiring(keeper()));
}

TEST_F(AttemptTest, APartIsCountedBesideTheLockAroundIt) {
  Attempt around(keeper(), name, kAlice, Attempt::Kind::kAround);
  EXPECT_TRUE(around.enter());
  EXPECT_FALSE(acquiring(keeper()));
  {
    Attempt part(keeper(), name, kAlice, Attempt::Kind::kPart);
    EXPECT_TRUE(part.enter());
    EXPECT_TRUE(acquiring(keeper()));
  }
  EXPECT_FALSE(acquiring(keeper()));
  Attempt whole(keeper(), name, kAlice);
  EXPECT_FALSE(whole.enter());
  around.end();
  EXPECT_TRUE(whole.enter());
}

TEST_F(AttemptTest, AnyNumberEndInAnyOrder) {
  std::vector<Attempt> attempts;
  constexpr int kMany = 1000;
  attempts.reserve(kMany);
  const auto owner = [](int number) { return OwnerNumber{1000U + static_cast<unsigned>(number)}; };
  for (int i = 0; i < kMany; ++i) {
    attempts.emplace_back(keeper(), name, owner(i));
    EXPECT_TRUE(attempts.back().enter());
  }
  for (int i = 0; i < kMany; i += 3) attempts[static_cast<std::size_t>(i)].end();
  for (int i = 0; i < kMany; ++i) EXPECT_EQ(keeper().acquiring(name, owner(i)), i % 3 != 0);
  attempts.clear();
  EXPECT_FALSE(acquiring(keeper()));
}

// What its owner does before the answer has come builds on it.
TEST_F(AttemptTest, AReleaseThatLeavesHoldsCountsAtOnce) {
  renewed(kAlice);
  renewed(kAlice, 2);
  const ReleasePlan plan = keeper().releases.begin(name, kAlice, {});
  EXPECT_EQ(plan.kind, Kind::kPartial);
  EXPECT_EQ(attempt(kAlice).count, 2);
  renewed(kAlice, 2);
  keeper().releases.done(name, kAlice, plan);
  EXPECT_EQ(keeper().count(name, kAlice), 2);
}

}  // namespace
}  // namespace holdfast::lease
