#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "locks/sync/quorum/fan_out_call.h"
#include "locks/sync/quorum/quorum_round.h"

namespace holdfast::sync {
namespace {

const QuorumRule kAll = multi_lock_rule(3, Millis(30000));
const QuorumRule kMajority = red_lock_rule(3, Millis(30000));

Outcome number(std::int64_t value) { return {Verdict::kGranted, {}, value}; }
const Outcome kNil{};
const Outcome kDone{};
const Outcome kNothing{Verdict::kBusy};
const Outcome kLost{Verdict::kGone, Status::invalid("lost")};
const Outcome kDown{Verdict::kFailed, Status::unreachable("down")};

TEST(CommonNumber, IsTheLeastOfAll) {
  EXPECT_EQ(common_number(kAll, {number(2), number(1), number(3)}).value, 1);
  EXPECT_EQ(common_number(kAll, {number(2), kNil, number(3)}).value, 0);
}

TEST(CommonNumber, IsTheLeastOfTheBestMajority) {
  EXPECT_EQ(common_number(kMajority, {number(2), kNil, number(3)}).value, 2);
  EXPECT_EQ(common_number(kMajority, {kDown, number(1), number(3)}).value, 1);
}

TEST(CommonNumber, NeedsAsManyAnswersAsCanBeTheLock) {
  EXPECT_EQ(common_number(kAll, {number(2), kDown, number(3)}).verdict, Verdict::kFailed);
  EXPECT_EQ(common_number(kMajority, {kDown, std::nullopt, number(3)}).verdict, Verdict::kFailed);
}

TEST(CommonNumber, AFailureNamesTheMembersThatDidNotAnswer) {
  QuorumRule rule = kMajority;
  rule.texts = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"'a' on redis://a", "'b' on redis://b", "'c' on redis://c"});
  const Outcome failed = common_number(rule, {std::nullopt, number(1), std::nullopt});
  EXPECT_EQ(failed.why.message(),
            "'a' on redis://a, 'c' on redis://c: no answer in time; see whether its server is up");
}

TEST(CommonTtl, EndlessIsMoreThanAnyTimeAndNotHeldIsLess) {
  EXPECT_EQ(common_ttl(kAll, {number(-1), number(70), number(-1)}).value, 70);
  EXPECT_EQ(common_ttl(kAll, {number(-1), number(-1), number(-1)}).value, -1);
  EXPECT_EQ(common_ttl(kAll, {number(-1), number(70), number(-2)}).value, -2);
  EXPECT_EQ(common_ttl(kMajority, {number(80), number(70), number(-2)}).value, 70);
  EXPECT_EQ(common_ttl(kMajority, {kDown, number(70), number(-2)}).value, -2);
}

TEST(CommonYes, CountsWhoSaysSo) {
  EXPECT_EQ(common_yes(kAll, 3, {number(1), number(1), number(0)}).value, 0);
  EXPECT_EQ(common_yes(kMajority, 2, {number(1), number(1), number(0)}).value, 1);
  EXPECT_EQ(common_yes(kMajority, 2, {number(1), kDown, kDown}).verdict, Verdict::kFailed);
}

TEST(CommonRelease, OfNothingIsNotOwned) {
  EXPECT_EQ(common_release(kAll, {kNothing, kNothing, kNothing}).verdict, Verdict::kBusy);
}

TEST(CommonRelease, OfAllReportsEveryLossAndEveryFailure) {
  EXPECT_EQ(common_release(kAll, {kDone, kDone, kDone}).verdict, Verdict::kGranted);
  EXPECT_EQ(common_release(kAll, {kDone, kDown, kDone}).verdict, Verdict::kFailed);
  const Outcome lost = common_release(kAll, {kDone, kLost, kDown});
  EXPECT_EQ(lost.verdict, Verdict::kGone);
  EXPECT_EQ(lost.why.message(), "its member 2: lost; its member 3: down");
}

TEST(CommonRelease, OfAMajorityMayMissAMinority) {
  EXPECT_EQ(common_release(kMajority, {kDone, kDone, kLost}).verdict, Verdict::kGranted);
  EXPECT_EQ(common_release(kMajority, {kDone, kDown, kNothing}).verdict, Verdict::kGranted);
  EXPECT_EQ(common_release(kMajority, {kDone, kLost, kNothing}).verdict, Verdict::kGone);
  EXPECT_EQ(common_release(kMajority, {kDown, kDown, kNothing}).verdict, Verdict::kFailed);
}

TEST(CommonRelease, ARepeatedOneMayFindMembersReleased) {
  EXPECT_EQ(common_release(kAll, {kNothing, kDone, kNothing}).verdict, Verdict::kGranted);
}

}  // namespace
}  // namespace holdfast::sync
