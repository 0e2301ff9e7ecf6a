#include <map>
#include <utility>
#include <vector>

#include "locks/lease/hold.h"
#include "locks/lease/keeper_fixture.h"
#include "locks/sync/recipes/permit_semaphore.h"

namespace holdfast::lease {
namespace {

// Records as a guard would see them.
class Kept final : public HeldRecords {
 public:
  Id add(const LockName& /*name*/, OwnerNumber owner, const Renewal& /*kind*/,
         TimePoint until) override {
    const Id id = ++ids_;
    all[id] = {owner, until};
    return id;
  }
  bool set_until(Id record, TimePoint until) override {
    const auto found = all.find(record);
    if (found == all.end()) return false;
    found->second.until = until;
    return true;
  }
  void remove(Id record) override { all.erase(record); }

  struct Record {
    OwnerNumber owner;
    TimePoint until;
  };
  std::map<Id, Record> all;

 private:
  Id ids_ = 0;
};

class HeldRecordsTest : public LeaseKeeperTest {
 protected:
  HeldRecordsTest() { keeper().set_records(kept_); }

  std::size_t records() const { return kept_->all.size(); }
  void reclaim() { kept_->all.clear(); }
  TimePoint until() const { return kept_->all.begin()->second.until; }
  TimePoint last_until() const { return kept_->all.rbegin()->second.until; }
  std::vector<OwnerNumber> owners() const {
    std::vector<OwnerNumber> all;
    for (const auto& [id, record] : kept_->all) all.push_back(record.owner);
    return all;
  }
  void record(Attempt& attempt) {
    (void)attempt.begin();
    attempt.record(sync::lock_recipe(), kLease);
  }
  bool keep(Attempt& attempt, OwnerNumber owner, Lease lease = {kLease, true}) {
    return attempt.granted({name, owner, 1, lease, world.now(), &sync::lock_recipe()});
  }

 private:
  const std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

TEST_F(HeldRecordsTest, AnAttemptIsRecordedBeforeItIsSentAndNotAfterItsAnswer) {
  {
    Attempt attempt(keeper(), name, kAlice);
    record(attempt);
    EXPECT_EQ(records(), 1U);
    EXPECT_EQ(until(), world.now() + kLease);
    pass(Millis(100));
    record(attempt);
    EXPECT_EQ(records(), 1U);
    EXPECT_EQ(until(), world.now() + kLease);
  }
  EXPECT_EQ(records(), 0U);
}

TEST_F(HeldRecordsTest, AnAttemptWithoutAnAnswerStaysRecorded) {
  {
    Attempt attempt(keeper(), name, kAlice);
    record(attempt);
    attempt.leave_record();
  }
  EXPECT_EQ(records(), 1U);
}

TEST_F(HeldRecordsTest, AGrantKeepsTheRecordOfItsAttempt) {
  Attempt attempt(keeper(), name, kAlice);
  record(attempt);
  ASSERT_TRUE(keep(attempt, kAlice));
  EXPECT_EQ(records(), 1U);
  EXPECT_EQ(until(), trusted_until(world.now(), kLease));
}

TEST_F(HeldRecordsTest, AMovedAttemptTakesItsRecordAlong) {
  Attempt attempt(keeper(), name, kAlice);
  record(attempt);
  Attempt moved(std::move(attempt));
  EXPECT_EQ(records(), 1U);
  ASSERT_TRUE(keep(moved, kAlice));
  EXPECT_EQ(records(), 1U);
}

TEST_F(HeldRecordsTest, EachPermitOfAnAttemptForSeveralIsRecordedUntilItsAnswer) {
  const auto& kind = sync::permit_kind().renewed;
  {
    Attempt attempt(keeper(), name, kAlice, Attempt::Kind::kPart);
    (void)attempt.begin();
    attempt.record(kind, kLease, 3);
    EXPECT_EQ(owners(), (std::vector{kAlice, owner_after(kAlice, 1), owner_after(kAlice, 2)}));
    pass(Millis(100));
    attempt.record(kind, kLease, 3);
    EXPECT_EQ(records(), 3U);
    EXPECT_EQ(last_until(), world.now() + kLease);
    Attempt moved(std::move(attempt));
    EXPECT_EQ(records(), 3U);
  }
  EXPECT_EQ(records(), 0U);
}

TEST_F(HeldRecordsTest, AnAttemptForSeveralPermitsWithoutAnAnswerStaysRecorded) {
  {
    Attempt attempt(keeper(), name, kAlice, Attempt::Kind::kPart);
    (void)attempt.begin();
    attempt.record(sync::permit_kind().renewed, kLease, 2);
    attempt.leave_record();
  }
  EXPECT_EQ(records(), 2U);
}

TEST_F(HeldRecordsTest, AGrantOfSeveralPermitsKeepsTheirRecords) {
  Attempt attempt(keeper(), name, kAlice, Attempt::Kind::kPart);
  (void)attempt.begin();
  attempt.record(sync::permit_kind().renewed, kLease, 2);
  Grant grant{name, kAlice, 1, {kLease, true}, world.now(), &sync::permit_kind().renewed};
  grant.amount = 2;
  ASSERT_TRUE(attempt.granted(grant));
  EXPECT_EQ(records(), 2U);
  const OwnerNumber second = owner_after(kAlice, 1);
  const ReleasePlan plan = keeper().releases.begin(name, second, {});
  keeper().releases.done(name, second, plan);
  EXPECT_EQ(owners(), std::vector{kAlice});
}

TEST_F(HeldRecordsTest, ANestedHoldHasOneRecordUntilTheLastRelease) {
  renewed(kAlice, 1);
  Attempt attempt(keeper(), name, kAlice);
  record(attempt);
  EXPECT_EQ(records(), 2U);
  ASSERT_TRUE(
      attempt.granted({name, kAlice, 2, {kLease, true}, world.now(), &sync::lock_recipe()}));
  EXPECT_EQ(records(), 1U);
  release(kAlice);
  EXPECT_EQ(records(), 1U);
  release(kAlice);
  EXPECT_EQ(records(), 0U);
}

TEST_F(HeldRecordsTest, AReleaseEndsTheRecordOnceItIsAnswered) {
  renewed(kAlice);
  const ReleasePlan plan = keeper().releases.begin(name, kAlice, {});
  EXPECT_EQ(records(), 1U);
  keeper().releases.done(name, kAlice, plan);
  EXPECT_EQ(records(), 0U);
}

TEST_F(HeldRecordsTest, ADeferredReleaseEndsTheRecordOnceItIsAnswered) {
  renewed(kAlice);
  ReleasePlan plan = keeper().releases.begin(name, kAlice, {});
  EXPECT_TRUE(keeper().releases.defer(name, kAlice, plan));
  EXPECT_EQ(records(), 1U);
  keeper().releases.ended(name, kAlice, plan.command, Releases::End::kDone);
  EXPECT_EQ(records(), 0U);
}

TEST_F(HeldRecordsTest, ARenewalMovesTheMoment) {
  renewed(kAlice);
  const TimePoint before = until();
  pass(kLease);
  EXPECT_GT(until(), before);
}

TEST_F(HeldRecordsTest, AHoldWhoseRecordWasReclaimedIsRecordedAgainByItsRenewal) {
  renewed(kAlice);
  reclaim();
  pass(kLease);
  EXPECT_EQ(owners(), std::vector{kAlice});
  EXPECT_GT(until(), world.now());
}

TEST_F(HeldRecordsTest, AnAttemptWhoseRecordWasReclaimedIsRecordedAgainByTheNextOne) {
  Attempt attempt(keeper(), name, kAlice);
  record(attempt);
  reclaim();
  record(attempt);
  EXPECT_EQ(owners(), std::vector{kAlice});
}

TEST_F(HeldRecordsTest, AnExtensionMovesTheMoment) {
  fixed(kAlice, Millis(1000));
  const std::uint32_t number = keeper().begin_extension(name, kAlice, Millis(60000));
  keeper().extended(name, kAlice, {number, Millis(60000)}, world.now());
  EXPECT_EQ(until(), trusted_until(world.now(), Millis(60000)));
}

TEST_F(HeldRecordsTest, AHoldThatIsLostIsNotRecorded) {
  renewed(kAlice);
  keeper().lose(name, kAlice, "gone");
  EXPECT_EQ(records(), 0U);
}

TEST_F(HeldRecordsTest, AHoldThatWasDetachedIsNotRecorded) {
  renewed(kAlice);
  (void)keeper().releases.begin_detach(name, kAlice, kLease);
  EXPECT_EQ(records(), 1U);
  keeper().releases.end_detach(name, kAlice);
  EXPECT_EQ(records(), 0U);
}

TEST_F(HeldRecordsTest, WhatAnEndedOwnerHeldStaysRecorded) {
  renewed(kAlice);
  owner_ended(keeper(), kAlice, "thread");
  EXPECT_EQ(records(), 1U);
}

TEST_F(HeldRecordsTest, AHoldLeftToItsLeaseIsRecordedForAsLong) {
  renewed(kAlice);
  keeper().releases.leave_to_lease(name, kAlice, 2 * kLease);
  EXPECT_EQ(records(), 1U);
  EXPECT_EQ(until(), world.now() + 2 * kLease);
}

TEST_F(HeldRecordsTest, AClosedClientLeavesItsRecordsAlone) {
  renewed(kAlice);
  (void)keeper().close();
  EXPECT_EQ(records(), 1U);
  Attempt attempt(keeper(), name, kBob);
  record(attempt);
  EXPECT_EQ(records(), 1U);
}

}  // namespace
}  // namespace holdfast::lease
