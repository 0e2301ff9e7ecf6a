#include "lease/attempts.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "lease/hold_record.h"
#include "lease/renewal_batch.h"

namespace holdfast::lease {

Attempt::Attempt(Attempt&& other) noexcept
    : Attempt(*other.attempts_, *other.name_, other.owner_, other.kind_) {
  if (other.under_way_) attempts_->move(other, *this);
}

bool Attempt::begin() { return attempts_->enter_alone(*this); }

void Attempt::begin_beside() { attempts_->enter_beside(*this); }

void Attempt::end() {
  if (under_way_) attempts_->end(*this);
}

AttemptPlan Attempts::begin(Attempt& attempt) {
  const LockName& name = *attempt.name_;
  const OwnerNumber owner = attempt.owner_;
  const MutexLock guard(book_.mutex);
  AttemptPlan plan;
  Hold* const hold = book_.holds.find(name, owner);
  // A reply that comes later must not revive a hold that this attempt takes for gone.
  if (hold != nullptr) book_.lose_if_over(*hold);
  plan.verdict = judge(attempt, hold);
  if (plan.verdict != AttemptPlan::Verdict::kBegun) return plan;
  if (!attempt.under_way_) enter(attempt);
  plan.takes_over = !book_.ledger.empty() && book_.ledger.take_over(name, owner);
  if (hold != nullptr && hold->held()) plan.count = hold->levels.count() + 1;
  return plan;
}

// `hold`: its owner's; null: none.
AttemptPlan::Verdict Attempts::judge(const Attempt& attempt, const Hold* hold) const {
  using Verdict = AttemptPlan::Verdict;
  if (book_.closing) return Verdict::kClosed;
  if (!attempt.under_way_ && !admits(attempt)) return Verdict::kUnderWay;
  const bool hides = may_hide(*attempt.name_, hold) &&
                     book_.hidden_loss(*attempt.name_, attempt.owner_).has_value();
  return hides ? Verdict::kLost : Verdict::kBegun;
}

// Usually not: then nothing is looked up.
bool Attempts::may_hide(const LockName& name, const Hold* hold) const {
  const bool lost = hold != nullptr && !hold->held();
  return lost || name.side() != Side::kWhole || !book_.blocks.empty();
}

std::optional<std::string> Attempts::refuse(const LockName& name, OwnerNumber owner) {
  const MutexLock guard(book_.mutex);
  return book_.refuse(name, owner);
}

void Attempts::forget_block(const LockName& name, OwnerNumber owner) {
  const MutexLock guard(book_.mutex);
  Hold* const hold = book_.holds.find(name, owner);
  if (hold != nullptr && hold->blocks > 0) {
    --hold->blocks;
  } else {
    (void)book_.blocks.end(name, owner);
  }
}

void Attempts::record(Attempt& attempt, const Renewal& kind, Millis longest, std::int64_t amount) {
  const MutexLock guard(book_.mutex);
  if (!book_.records || !attempt.under_way_) return;
  const TimePoint until = after(book_.clock.now(), longest);
  attempt.more_records_.resize(static_cast<std::size_t>(amount - 1));
  OwnerNumber owner = attempt.owner_;
  record(attempt, attempt.record_, {owner, kind, until});
  for (HeldRecords::Id& record_of_next : attempt.more_records_) {
    owner = owner_after(owner, 1);
    record(attempt, record_of_next, {owner, kind, until});
  }
}

void Attempts::record(const Attempt& attempt, HeldRecords::Id& record, const MayHold& hold) {
  if (record != 0 && book_.records->set_until(record, hold.until)) return;
  record = book_.records->add(*attempt.name_, hold.owner, hold.kind, hold.until);
}

void Attempts::leave_record(Attempt& attempt) {
  const MutexLock guard(book_.mutex);
  attempt.record_ = 0;
  attempt.more_records_.clear();
}

void Attempts::answered(const LockName& name, OwnerNumber owner) {
  const MutexLock guard(book_.mutex);
  const ReleaseLedger::Entry* entry = book_.ledger.find(name, owner);
  const bool taken_over = entry != nullptr && entry->state == ReleaseLedger::State::kTakenOver;
  if (taken_over) book_.drop_pending(name, owner);
}

bool Attempts::granted(const Grant& grant, Attempt& attempt) {
  const MutexLock guard(book_.mutex);
  if (book_.closing) return false;
  leave(attempt);
  add(grant, std::exchange(attempt.record_, 0));
  std::vector<HeldRecords::Id> records = std::move(attempt.more_records_);
  records.resize(static_cast<std::size_t>(grant.amount - 1));
  OwnerNumber owner = grant.owner;
  for (const HeldRecords::Id record : records) {
    owner = owner_after(owner, 1);
    add(grant.of(owner), record);
  }
  return true;
}

void Attempts::add(const Grant& grant, HeldRecords::Id record) {
  book_.drop_pending(grant.name, grant.owner);
  Hold& hold = hold_for(grant);
  hold.add_level(grant);
  if (grant.block) ++hold.blocks;
  if (grant.lease.renewed) book_.plan_first_renewal(hold, grant.sent);
  if (book_.records) book_.record(hold, record);
  book_.arm(hold, grant.sent);
  hold.trace(Hold::Step::kGranted);
}

Hold& Attempts::hold_for(const Grant& grant) {
  Hold* const known = book_.holds.find(grant.name, grant.owner);
  if (known != nullptr && known->held()) return *known;
  if (known != nullptr) book_.holds.erase(*known);
  Hold& hold = book_.holds.add(HoldPtr(new Hold(grant)));
  hold.group = static_cast<std::uint32_t>(hold.serial / RenewalBatch::kMostKeys);
  if (book_.tracks) hold.next_look = after(hold.since, kYoung);
  book_.events.count(hold, Stats::Counter::kHeld);
  return hold;
}

bool Attempts::under_way(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(book_.mutex);
  return book_.attempts.any(name, owner);
}

bool Attempts::any() const {
  const MutexLock guard(book_.mutex);
  return book_.acquisitions > 0;
}

bool Attempts::enter_alone(Attempt& attempt) {
  const MutexLock guard(book_.mutex);
  if (!admits(attempt)) return false;
  enter(attempt);
  return true;
}

void Attempts::enter_beside(Attempt& attempt) {
  const MutexLock guard(book_.mutex);
  enter(attempt);
}

void Attempts::end(Attempt& attempt) {
  const MutexLock guard(book_.mutex);
  leave(attempt);
  book_.end_record(attempt.record_);
  for (HeldRecords::Id& record : attempt.more_records_) book_.end_record(record);
  book_.notify_if_idle();
}

void Attempts::move(Attempt& from, Attempt& to) {
  const MutexLock guard(book_.mutex);
  to.record_ = std::exchange(from.record_, 0);
  to.more_records_ = std::move(from.more_records_);
  leave(from);
  enter(to);
}

bool Attempts::admits(const Attempt& attempt) const {
  return !attempt.exclusive() || !book_.attempts.any(*attempt.name_, attempt.owner_);
}

void Attempts::enter(Attempt& attempt) {
  if (attempt.exclusive()) book_.attempts.add(attempt);
  if (attempt.counted()) ++book_.acquisitions;
  attempt.under_way_ = true;
}

void Attempts::leave(Attempt& attempt) {
  if (attempt.exclusive()) AttemptLists::remove(attempt);
  if (attempt.counted()) --book_.acquisitions;
  attempt.under_way_ = false;
}

}  // namespace holdfast::lease
