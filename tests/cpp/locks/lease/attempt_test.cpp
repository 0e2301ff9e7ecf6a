// Attempts that are under way: one for each owner and lock.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "locks/lease/attempts.h"
#include "locks/lease/keeper_fixture.h"

namespace holdfast::lease {
namespace {

using Verdict = ReleasePlan::Verdict;

class AttemptTest : public LeaseKeeperTest {};

TEST_F(AttemptTest, AnOwnerHasOneForEachLock) {
  const LockName side(name.text(), Side::kWrite);
  const LockName other("other");
  Attempt attempt(keeper().attempts(), name, kAlice);
  EXPECT_TRUE(attempt.begin());
  Attempt again(keeper().attempts(), name, kAlice);
  EXPECT_FALSE(again.begin());
  EXPECT_FALSE(again.under_way());
  EXPECT_EQ(keeper().attempts().begin(again).verdict, AttemptPlan::Verdict::kUnderWay);
  Attempt of_side(keeper().attempts(), side, kAlice);
  EXPECT_TRUE(of_side.begin());
  Attempt of_other(keeper().attempts(), other, kAlice);
  EXPECT_TRUE(of_other.begin());
  Attempt of_bob(keeper().attempts(), name, kBob);
  EXPECT_TRUE(of_bob.begin());
  attempt.end();
  EXPECT_TRUE(again.begin());
  EXPECT_TRUE(keeper().attempts().under_way(side, kAlice));
}

TEST_F(AttemptTest, ItEndsWithItsGrantOrItsScope) {
  {
    Attempt attempt(keeper().attempts(), name, kAlice);
    EXPECT_EQ(keeper().attempts().begin(attempt).verdict, AttemptPlan::Verdict::kBegun);
    EXPECT_TRUE(keeper().attempts().any());
    EXPECT_TRUE(keeper().attempts().under_way(name, kAlice));
  }
  EXPECT_FALSE(keeper().attempts().any());
  EXPECT_FALSE(keeper().attempts().under_way(name, kAlice));
  renewed(kAlice);
  EXPECT_FALSE(keeper().attempts().any());
  EXPECT_FALSE(keeper().attempts().under_way(name, kAlice));
}

TEST_F(AttemptTest, ItsOwnerReleasesNothingMeanwhile) {
  renewed(kAlice);
  Attempt attempt(keeper().attempts(), name, kAlice);
  EXPECT_TRUE(attempt.begin());
  EXPECT_EQ(keeper().releases().begin(name, kAlice, {}).verdict, Verdict::kUnderWay);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  EXPECT_EQ(keeper().releases().begin_giving_back(name, kAlice, {}).verdict, Verdict::kFinal);
}

TEST_F(AttemptTest, ItMovesToAnObjectThatLivesLonger) {
  {
    auto attempt = std::make_unique<Attempt>(keeper().attempts(), name, kAlice);
    EXPECT_TRUE(attempt->begin());
    const Attempt moved(std::move(*attempt));
    attempt.reset();
    EXPECT_TRUE(moved.under_way());
    EXPECT_TRUE(keeper().attempts().under_way(name, kAlice));
  }
  EXPECT_FALSE(keeper().attempts().under_way(name, kAlice));
  EXPECT_FALSE(keeper().attempts().any());
}

TEST_F(AttemptTest, APartIsCountedBesideTheLockAroundIt) {
  Attempt around(keeper().attempts(), name, kAlice, Attempt::Kind::kAround);
  EXPECT_TRUE(around.begin());
  EXPECT_FALSE(keeper().attempts().any());
  {
    Attempt part(keeper().attempts(), name, kAlice, Attempt::Kind::kPart);
    EXPECT_TRUE(part.begin());
    EXPECT_TRUE(keeper().attempts().any());
  }
  EXPECT_FALSE(keeper().attempts().any());
  Attempt whole(keeper().attempts(), name, kAlice);
  EXPECT_FALSE(whole.begin());
  around.end();
  EXPECT_TRUE(whole.begin());
}

TEST_F(AttemptTest, AnyNumberEndInAnyOrder) {
  std::vector<Attempt> attempts;
  constexpr int kMany = 1000;
  attempts.reserve(kMany);
  const auto owner = [](int number) { return OwnerNumber{1000U + static_cast<unsigned>(number)}; };
  for (int i = 0; i < kMany; ++i) {
    attempts.emplace_back(keeper().attempts(), name, owner(i));
    EXPECT_TRUE(attempts.back().begin());
  }
  for (int i = 0; i < kMany; i += 3) attempts[static_cast<std::size_t>(i)].end();
  for (int i = 0; i < kMany; ++i)
    EXPECT_EQ(keeper().attempts().under_way(name, owner(i)), i % 3 != 0);
  attempts.clear();
  EXPECT_FALSE(keeper().attempts().any());
}

// What its owner does before the answer has come builds on it.
TEST_F(AttemptTest, AReleaseThatLeavesHoldsCountsAtOnce) {
  renewed(kAlice);
  renewed(kAlice, 2);
  const ReleasePlan plan = keeper().releases().begin(name, kAlice, {});
  EXPECT_EQ(plan.verdict, Verdict::kPartial);
  EXPECT_EQ(attempt(kAlice).count, 2);
  renewed(kAlice, 2);
  keeper().releases().done(name, kAlice, plan);
  EXPECT_EQ(keeper().count(name, kAlice), 2);
}

}  // namespace
}  // namespace holdfast::lease
