#include "lease/debts.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace holdfast::lease {
namespace {

const LockName kName("myLock");
const LockName kOther("another");
constexpr OwnerNumber kAlice{1};
constexpr OwnerNumber kBob{2};
constexpr TimePoint kSoon{std::chrono::hours(1)};
constexpr TimePoint kLate{std::chrono::hours(2)};

class Owing final : public Debt {
 public:
  explicit Owing(TimePoint until = kSoon, bool in_front = true) : in_front_(in_front) {
    deadline = until;
  }
  std::string_view key() const override { return "key"; }
  void encode(std::string& /*out*/) const override {}
  void complete(Result<resp::Reply> /*reply*/, const client::Sent& /*sent*/) override {}
  bool cancel() override {
    ++cancelled;
    return in_front_;
  }
  int cancelled = 0;

 private:
  const bool in_front_;
};

TEST(Debts, TheLastCoversThoseBeforeItForAsLongAsTheyWereTried) {
  Debts debts;
  const auto first = std::make_shared<Owing>(kLate);
  const auto last = std::make_shared<Owing>(kSoon);
  debts.add(kName, kAlice, first, true);
  debts.add(kName, kAlice, last, true);
  EXPECT_TRUE(first->abandoned());
  EXPECT_FALSE(last->abandoned());
  EXPECT_EQ(last->deadline, kLate);
}

TEST(Debts, OnlyThoseThatCoverAreCoveredAndOnlyByTheSameOwnerAndName) {
  Debts debts;
  const auto release = std::make_shared<Owing>();
  const auto of_other = std::make_shared<Owing>();
  const auto of_bob = std::make_shared<Owing>();
  debts.add(kName, kAlice, release, false);
  debts.add(kOther, kAlice, of_other, true);
  debts.add(kName, kBob, of_bob, true);
  debts.add(kName, kAlice, std::make_shared<Owing>(), true);
  debts.add(kName, kAlice, std::make_shared<Owing>(), false);
  EXPECT_FALSE(release->abandoned());
  EXPECT_FALSE(of_other->abandoned());
  EXPECT_FALSE(of_bob->abandoned());
}

TEST(Debts, WhatWasCancelledInItsPlaceIsStillCovered) {
  Debts debts;
  const auto in_front = std::make_shared<Owing>();
  debts.add(kName, kAlice, in_front, true);
  debts.cancel(kName, kAlice);
  debts.add(kName, kAlice, std::make_shared<Owing>(), true);
  EXPECT_EQ(in_front->cancelled, 1);
  EXPECT_TRUE(in_front->abandoned());
}

TEST(Debts, WhatWasCancelledBehindItsPlaceAndWhatIsAnsweredIsForgotten) {
  Debts debts;
  const auto behind = std::make_shared<Owing>(kSoon, false);
  const auto answered = std::make_shared<Owing>();
  debts.add(kName, kAlice, behind, true);
  debts.cancel(kName, kAlice);
  debts.add(kName, kAlice, answered, true);
  debts.remove(kAlice, *answered);
  debts.cancel(kOther, kAlice);
  debts.cancel(kName, kAlice);
  EXPECT_EQ(behind->cancelled, 1);
  EXPECT_EQ(answered->cancelled, 0);
  EXPECT_FALSE(behind->abandoned());
  EXPECT_EQ(behind.use_count(), 1);
}

}  // namespace
}  // namespace holdfast::lease
