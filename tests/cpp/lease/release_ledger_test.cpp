#include "lease/release_ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

namespace holdfast::lease {
namespace {

using State = ReleaseLedger::State;

const LockName kName("myLock");
const LockName kOther("another");
constexpr OwnerNumber kAlice{1};
constexpr OwnerNumber kBob{2};
constexpr TimePoint kSoon{std::chrono::hours(1)};
constexpr TimePoint kLate{std::chrono::hours(2)};

class Sending final : public client::Request {
 public:
  explicit Sending(bool without_caller) { persistent = without_caller; }
  std::string_view key() const override { return "key"; }
  resp::ReplyKinds encode(std::string& /*out*/) const override { return resp::ReplyKinds::any(); }
  void complete(Result<resp::Reply> /*reply*/, const client::Sent& /*sent*/) override {}
};

std::shared_ptr<Sending> callers() { return std::make_shared<Sending>(false); }
std::shared_ptr<Sending> background() { return std::make_shared<Sending>(true); }

class ReleaseLedgerTest : public ::testing::Test {
 protected:
  ReleaseLedger::Serial open(const ReleaseLedger::Command& command, TimePoint until = kSoon) {
    ReleaseLedger::Entry entry{kName};
    entry.command = command;
    entry.until = until;
    return ledger.open(kAlice, std::move(entry)).serial;
  }
  ReleaseLedger ledger;
};

TEST_F(ReleaseLedgerTest, AnEntryStaysUntilItsReleaseIsAnswered) {
  const auto serial = open(callers());
  EXPECT_EQ(ledger.pending(), 1U);
  EXPECT_EQ(ledger.find(kName, kBob), nullptr);
  EXPECT_EQ(ledger.find(kOther, kAlice), nullptr);
  (void)ledger.settle(kName, kAlice, serial);
  EXPECT_TRUE(ledger.empty());
  EXPECT_EQ(ledger.pending(), 0U);
}

TEST_F(ReleaseLedgerTest, ALaterReleaseIsForAsLongAsThoseBeforeIt) {
  const auto first = callers();
  const auto second = background();
  const auto third = callers();
  (void)open(first, kLate);
  (void)open(second);
  const auto serial = open(third);
  EXPECT_EQ(ledger.find(kName, kAlice)->until, kLate);
  EXPECT_TRUE(first->revoked());
  EXPECT_FALSE(first->abandoned());  // a caller waits for its answer
  EXPECT_TRUE(second->revoked());
  EXPECT_TRUE(second->abandoned());
  EXPECT_FALSE(third->revoked());
  EXPECT_EQ(ledger.pending(), 1U);
  (void)ledger.settle(kName, kAlice, serial);
  EXPECT_TRUE(ledger.empty());
}

TEST_F(ReleaseLedgerTest, TheReplyToAnEarlierCommandChangesNothing) {
  const auto early = open(callers());
  const auto late = open(callers());
  EXPECT_EQ(ledger.settle(kName, kAlice, early).name, LockName(""));
  ledger.keep(kName, kAlice, early, State::kReleased);
  EXPECT_FALSE(ledger.resume(kName, kAlice, early, background()));
  EXPECT_EQ(ledger.find(kName, kAlice)->state, State::kOpen);
  EXPECT_TRUE(ledger.resume(kName, kAlice, late, background()));
}

TEST_F(ReleaseLedgerTest, AnAttemptTakesOverAndItsAnswerSettles) {
  const auto command = callers();
  const auto serial = open(command);
  EXPECT_FALSE(ledger.take_over(kName, kBob));
  EXPECT_TRUE(ledger.take_over(kName, kAlice));
  EXPECT_TRUE(command->revoked());
  EXPECT_FALSE(ledger.resume(kName, kAlice, serial, background()));
  EXPECT_EQ(ledger.pending(), 1U);
  ledger.settle_attempt(kName, kAlice);
  EXPECT_TRUE(ledger.empty());
}

TEST_F(ReleaseLedgerTest, AnAttemptWithoutAnAnswerLeavesTheReleasePending) {
  (void)open(callers(), kLate);
  (void)ledger.take_over(kName, kAlice);
  const auto resumed = background();
  const auto serial = open(resumed);
  EXPECT_EQ(ledger.find(kName, kAlice)->until, kLate);
  ledger.settle_attempt(kName, kAlice);  // the answer comes too late: it was sent before
  EXPECT_NE(ledger.open_at(kName, kAlice, serial), nullptr);
  EXPECT_FALSE(resumed->revoked());
}

TEST_F(ReleaseLedgerTest, AnotherCommandContinuesUnderTheSameSerial) {
  const auto first = callers();
  const auto serial = open(first);
  EXPECT_TRUE(ledger.resume(kName, kAlice, serial, background()));
  EXPECT_TRUE(first->revoked());
  EXPECT_NE(ledger.open_at(kName, kAlice, serial), nullptr);
}

TEST_F(ReleaseLedgerTest, WhatIsToBeReportedIsPendingNoLonger) {
  const auto serial = open(callers());
  ledger.keep(kName, kAlice, serial, State::kReleased);
  EXPECT_EQ(ledger.pending(), 0U);
  EXPECT_EQ(ledger.find(kName, kAlice)->state, State::kReleased);
  EXPECT_EQ(ledger.names(), std::vector<std::string>{});
  EXPECT_FALSE(ledger.take_over(kName, kAlice));
  ledger.owner_ended(kAlice);
  EXPECT_TRUE(ledger.empty());
}

TEST_F(ReleaseLedgerTest, WhatWasRefusedForGoodIsTakenOverLikeWhatIsPending) {
  const auto serial = open(callers());
  ledger.keep(kName, kAlice, serial, State::kRefused);
  EXPECT_EQ(ledger.pending(), 0U);
  EXPECT_EQ(ledger.names(), std::vector<std::string>{"myLock"});
  EXPECT_TRUE(ledger.take_over(kName, kAlice));
  EXPECT_EQ(ledger.pending(), 1U);
}

TEST_F(ReleaseLedgerTest, AReleaseGoesOnWhenItsOwnerEnds) {
  (void)open(background());
  ledger.owner_ended(kAlice);
  EXPECT_EQ(ledger.pending(), 1U);
}

TEST_F(ReleaseLedgerTest, OnlySoMuchIsKeptToBeReported) {
  for (int i = 0; i < 10'100; ++i) {
    ReleaseLedger::Entry entry{LockName(std::to_string(i))};
    const auto serial = ledger.open(kAlice, std::move(entry)).serial;
    ledger.keep(LockName(std::to_string(i)), kAlice, serial, State::kRefused);
  }
  EXPECT_EQ(ledger.names().size(), 10'000U);
  EXPECT_EQ(ledger.find(LockName("99"), kAlice), nullptr);
  EXPECT_NE(ledger.find(LockName("100"), kAlice), nullptr);
}

}  // namespace
}  // namespace holdfast::lease
