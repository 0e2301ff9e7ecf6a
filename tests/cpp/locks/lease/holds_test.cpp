// The release of an entry: each state and what changes it.

#include "locks/lease/holds.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "locks/sync/recipes/kinds.h"

namespace holdfast::lease {
namespace {

using State = Holds::ReleaseState;

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
  resp::ReplyKinds encode(std::string& /*out*/, bool /*by_text*/) const override {
    return resp::ReplyKinds::any();
  }
  void complete(Result<resp::Reply> /*reply*/, const client::Sent& /*sent*/) override {}
};

std::shared_ptr<Sending> callers() { return std::make_shared<Sending>(false); }
std::shared_ptr<Sending> background() { return std::make_shared<Sending>(true); }

class HoldsTest : public ::testing::Test {
 protected:
  Holds::Entry& entry() { return holds.at(kName, kAlice); }
  void open(const Holds::Command& command, TimePoint until = kSoon) {
    holds.open(entry(), command, until);
  }
  // An entry whose release has come to that state.
  Holds::Entry& in(State state, const Holds::Command& command = callers()) {
    holds.drop(entry());
    if (state == State::kNone) return entry();
    open(command);
    if (state == State::kTakenOver) (void)holds.take_over(entry());
    if (state == State::kRefused || state == State::kReleased) holds.keep(entry(), state);
    return entry();
  }
  Hold& granted() {
    const Grant grant{kName, kAlice, 1, {Millis(30'000), true}, {}, &sync::lock_recipe()};
    return holds.grant(entry(), HoldPtr(new Hold(grant, grant.owner)));
  }
  // As many ends, to be reported to Alice.
  void keep(int count) {
    for (int i = 0; i < count; ++i) {
      Holds::Entry& of = holds.at(LockName(std::to_string(i)), kAlice);
      holds.open(of, {}, kSoon);
      holds.keep(of, State::kRefused);
    }
  }

  Holds holds;
};

// The table in locks/lease/holds.h.
TEST_F(HoldsTest, EntriesAreFoundByTheirNameAndByTheirOwner) {
  Holds::Entry& read = holds.at(LockName(kName, Side::kRead), kBob);
  Holds::Entry& other = holds.at(kOther, kAlice);
  EXPECT_EQ(holds.named(kName.bytes()), (std::vector<Holds::Entry*>{&read}));
  EXPECT_EQ(holds.of(kAlice), (std::vector<Holds::Entry*>{&other}));
  Holds::Entry& first = entry();
  EXPECT_EQ(holds.named(kName.bytes()), (std::vector<Holds::Entry*>{&first, &read}));
  holds.tidy(read);
  EXPECT_EQ(holds.named(kName.bytes()), (std::vector<Holds::Entry*>{&first}));
  holds.tidy(first);
  holds.tidy(other);
  EXPECT_TRUE(holds.named(kName.bytes()).empty());
  EXPECT_TRUE(holds.of(kAlice).empty());
}

TEST_F(HoldsTest, EachEventLeadsFromEachStateToOne) {
  struct Row {
    std::string event;
    std::function<void(Holds::Entry&)> happens;
    std::vector<State> to;  // from none, open, taken over, refused, released
  };
  constexpr State kNone = State::kNone;
  constexpr State kOpen = State::kOpen;
  constexpr State kTakenOver = State::kTakenOver;
  constexpr State kRefused = State::kRefused;
  constexpr State kReleased = State::kReleased;
  const std::vector<Row> rows{
      {"open",
       [&](Holds::Entry& of) { holds.open(of, {}, kSoon); },
       {kOpen, kOpen, kOpen, kOpen, kOpen}},
      {"take_over",
       [&](Holds::Entry& of) { (void)holds.take_over(of); },
       {kNone, kTakenOver, kTakenOver, kTakenOver, kReleased}},
      {"settle",
       [&](Holds::Entry& of) { (void)holds.settle(of); },
       {kNone, kNone, kNone, kNone, kNone}},
      {"drop", [&](Holds::Entry& of) { holds.drop(of); }, {kNone, kNone, kNone, kNone, kNone}},
      {"end_owner",
       [&](Holds::Entry& of) { holds.end_owner(of); },
       {kNone, kOpen, kTakenOver, kNone, kNone}},
      {"close",
       [&](Holds::Entry& of) { (void)holds.close(of); },
       {kNone, kNone, kNone, kNone, kNone}},
  };
  for (const Row& row : rows) {
    for (const State from : {kNone, kOpen, kTakenOver, kRefused, kReleased}) {
      Holds::Entry& of = in(from);
      row.happens(of);
      EXPECT_EQ(of.release, row.to.at(static_cast<std::size_t>(from)))
          << row.event << " from " << static_cast<int>(from);
      EXPECT_EQ(holds.pending(), of.pending() ? 1U : 0U);
    }
  }
}

TEST_F(HoldsTest, WhatTakesItsPlaceRevokesTheCommand) {
  const std::vector<std::function<void(Holds::Entry&)>> successors{
      [&](Holds::Entry& of) { holds.open(of, callers(), kSoon); },
      [&](Holds::Entry& of) { (void)holds.take_over(of); },
      [&](Holds::Entry& of) { holds.drop(of); },
  };
  for (const auto& happens : successors) {
    const auto command = callers();
    happens(in(State::kOpen, command));
    EXPECT_TRUE(command->revoked());
    EXPECT_FALSE(command->abandoned());  // a caller waits for its answer
  }
}

TEST_F(HoldsTest, ALaterReleaseIsForAsLongAsThoseBeforeIt) {
  const auto first = background();
  open(first, kLate);
  open(callers());
  EXPECT_EQ(entry().until, kLate);
  EXPECT_TRUE(first->abandoned());
  (void)holds.take_over(entry());
  open(callers());
  EXPECT_EQ(entry().until, kLate);
  holds.drop(entry());
  open(callers());
  EXPECT_EQ(entry().until, kSoon);
}

TEST_F(HoldsTest, AReleaseIsThatOfItsNewestCommandOnly) {
  const auto early = callers();
  const auto late = callers();
  open(early);
  EXPECT_TRUE(entry().is_open(early.get()));
  open(late);
  EXPECT_FALSE(entry().is_open(early.get()));
  EXPECT_TRUE(entry().is_open(late.get()));
  (void)holds.take_over(entry());
  EXPECT_FALSE(entry().is_open(late.get()));
}

TEST_F(HoldsTest, ALeavingHoldIsNotCurrentUntilItsReleaseIsSettled) {
  Hold& hold = granted();
  EXPECT_EQ(holds.hold(kName, kAlice), &hold);
  holds.leave(entry());
  open(callers());
  EXPECT_EQ(holds.hold(kName, kAlice), nullptr);
  EXPECT_TRUE(hold.sending.stopped());
  const Holds::Released released = holds.settle(entry());
  EXPECT_EQ(released.hold.get(), &hold);
  holds.put_back(entry(), released.hold);
  holds.lose(hold);
  EXPECT_EQ(holds.hold(kName, kAlice), &hold);
  EXPECT_EQ(hold.state, HoldState::kLost);
}

TEST_F(HoldsTest, TheEndOfADeferredReleaseOutlivesItsOwner) {
  for (const auto caller : {Holds::Caller::kAwaits, Holds::Caller::kLeft}) {
    (void)granted();
    holds.leave(entry());
    open(background());
    entry().caller = caller;
    holds.end_owner(entry());
    EXPECT_EQ(holds.settle(entry()).hold != nullptr, caller == Holds::Caller::kLeft);
  }
}

TEST_F(HoldsTest, AnEntryIsOfOneNameAndOwnerAndEndsWithWhatItHas) {
  Holds::Entry& of_alice = entry();
  EXPECT_EQ(holds.find(kName, kBob), nullptr);
  EXPECT_EQ(holds.find(kOther, kAlice), nullptr);
  EXPECT_EQ(holds.find(LockName(kName, Side::kRead), kAlice), nullptr);
  of_alice.attempts = 1;
  open(callers());
  (void)granted();
  holds.tidy(of_alice);
  holds.drop(of_alice);
  holds.tidy(of_alice);
  holds.end(of_alice);
  holds.tidy(of_alice);
  EXPECT_EQ(holds.of(kAlice), std::vector<Holds::Entry*>{&of_alice});
  of_alice.attempts = 0;
  holds.tidy(of_alice);
  EXPECT_EQ(holds.size(), 0U);
  EXPECT_TRUE(holds.of(kAlice).empty());
}

TEST_F(HoldsTest, AnOwnersEntriesAreFoundAmongThoseOfOthers) {
  constexpr unsigned kMany = 1000;
  for (unsigned owner = 0; owner < kMany; ++owner) (void)holds.at(kName, OwnerNumber{owner});
  (void)holds.at(kOther, kAlice);
  for (unsigned owner = 0; owner < kMany; owner += 2) {
    holds.tidy(*holds.find(kName, OwnerNumber{owner}));
  }
  EXPECT_EQ(holds.of(kAlice).size(), 2U);
  EXPECT_EQ(holds.of(kBob).size(), 0U);
  EXPECT_EQ(holds.all().size(), kMany / 2 + 1);
}

TEST_F(HoldsTest, AnEndThatIsForgottenLeavesTheNextGrantAlone) {
  holds.lose(granted());
  holds.end(entry());
  keep(10'000);
  Hold& next = granted();
  EXPECT_EQ(holds.hold(kName, kAlice), &next);
  EXPECT_EQ(holds.size(), 10'001U);
}

TEST_F(HoldsTest, OnlySoMuchIsKeptToBeReported) {
  keep(10'100);
  EXPECT_EQ(holds.size(), 10'000U);
  EXPECT_EQ(holds.find(LockName("99"), kAlice), nullptr);
  EXPECT_NE(holds.find(LockName("100"), kAlice), nullptr);
}

}  // namespace
}  // namespace holdfast::lease
