#include "lease/attempts.h"

#include <algorithm>
#include <utility>

#include "lease/hold.h"
#include "lease/renewal_batch.h"

namespace holdfast::lease {

bool Attempt::begin() { return attempts_->enter_alone(*this); }

void Attempt::begin_beside() { attempts_->enter_beside(*this); }

// A kind that excludes no other has no entry before its grant.
Holds::Entry* Attempts::entry_of(const Attempt& attempt) {
  if (attempt.entry_ != nullptr) return attempt.entry_;
  if (attempt.exclusive()) return &book_.holds.at(*attempt.name_, attempt.owner_);
  return book_.holds.find(*attempt.name_, attempt.owner_);
}

AttemptPlan Attempts::begin(Attempt& attempt) {
  const MutexLock guard(book_.mutex);
  const UsedEntry entry(book_.holds, entry_of(attempt));
  Hold* const hold = entry ? entry->current() : nullptr;
  // A reply that comes later must not revive a hold that this attempt takes for gone.
  if (hold != nullptr) (void)book_.lose_if_over(*hold);
  AttemptPlan plan;
  plan.verdict = judge(attempt, entry.get());
  if (plan.verdict != AttemptPlan::Verdict::kBegun) return plan;
  if (!attempt.under_way_) enter(attempt, entry.get());
  plan.takes_over = entry && book_.holds.take_over(*entry);
  if (hold != nullptr && hold->held()) plan.count = hold->levels.count() + 1;
  return plan;
}

// `entry`: its owner's; null: none.
AttemptPlan::Verdict Attempts::judge(const Attempt& attempt, const Holds::Entry* entry) const {
  using Verdict = AttemptPlan::Verdict;
  if (book_.closing) return Verdict::kClosed;
  const bool admits = attempt.under_way_ || !attempt.exclusive() || entry->attempts == 0;
  if (!admits) return Verdict::kUnderWay;
  const bool hides = may_hide(*attempt.name_, entry == nullptr ? nullptr : entry->current()) &&
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
  Hold* const hold = book_.holds.hold(name, owner);
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
  attempt.records_.resize(static_cast<std::size_t>(amount));
  OwnerNumber owner = attempt.owner_;
  for (HeldRecords::Id& record : attempt.records_) {
    const bool known = record != 0 && book_.records->set_until(record, until);
    if (!known) record = book_.records->add(*attempt.name_, owner, kind, until);
    owner = owner_after(owner, 1);
  }
}

void Attempts::leave_record(Attempt& attempt) {
  const MutexLock guard(book_.mutex);
  attempt.records_.clear();
}

void Attempts::answered(const LockName& name, OwnerNumber owner) {
  const MutexLock guard(book_.mutex);
  const UsedEntry entry(book_.holds, book_.holds.find(name, owner));
  const bool taken_over = entry && entry->release == Holds::Release::kTakenOver;
  if (taken_over) book_.drop_release(*entry);
}

bool Attempts::granted(const Grant& grant, Attempt& attempt) {
  const MutexLock guard(book_.mutex);
  if (book_.closing) return false;
  Holds::Entry* entry = attempt.entry_;
  leave(attempt);
  const std::vector<HeldRecords::Id> records = std::exchange(attempt.records_, {});
  for (std::int64_t i = 0; i < grant.amount; ++i) {
    const bool known = i == 0 && entry != nullptr;
    if (!known) entry = &book_.holds.at(grant.name, owner_after(grant.owner, i));
    const auto place = static_cast<std::size_t>(i);
    add(*entry, grant, place < records.size() ? records[place] : 0);
  }
  return true;
}

void Attempts::add(Holds::Entry& entry, const Grant& grant, HeldRecords::Id record) {
  book_.drop_release(entry);
  if (!entry.hold || !entry.hold->held()) {
    if (entry.hold) book_.holds.end(entry);
    Hold& fresh = book_.holds.grant(entry, HoldPtr(new Hold(grant, entry.owner)));
    fresh.group = static_cast<std::uint32_t>(book_.holds.grants() / RenewalBatch::kMostKeys);
    if (book_.tracks) fresh.next_look = after(fresh.since, kYoung);
    book_.events.count(fresh, Stats::Counter::kHeld);
  }
  Hold& hold = *entry.hold;
  hold.add_level(grant);
  if (grant.block) ++hold.blocks;
  if (grant.lease.renewed) book_.plan_first_renewal(hold, grant.sent);
  if (book_.records) book_.record(hold, record);
  book_.arm(hold, grant.sent);
  hold.trace(Hold::Step::kGranted);
}

void Attempts::introduce(const Grant& grant, std::string about) {
  const MutexLock guard(book_.mutex);
  if (book_.closing) return;
  Holds::Entry& entry = book_.holds.at(grant.name, grant.owner);
  add(entry, grant, 0);
  Hold& hold = *entry.hold;
  hold.extras().about = std::move(about);
  hold.internal = true;
  hold.next_renewal = grant.sent;
  hold.next_look = kNever;
  book_.arm(hold, grant.sent);
}

bool Attempts::under_way(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(book_.mutex);
  const Holds::Entry* const entry = book_.holds.find(name, owner);
  return entry != nullptr && entry->attempts > 0;
}

bool Attempts::any() const {
  const MutexLock guard(book_.mutex);
  return book_.acquisitions > 0;
}

bool Attempts::enter_alone(Attempt& attempt) {
  const MutexLock guard(book_.mutex);
  Holds::Entry* const entry = entry_of(attempt);
  if (attempt.exclusive() && entry->attempts > 0) return false;
  enter(attempt, entry);
  return true;
}

void Attempts::enter_beside(Attempt& attempt) {
  const MutexLock guard(book_.mutex);
  enter(attempt, entry_of(attempt));
}

void Attempts::end(Attempt& attempt) {
  const MutexLock guard(book_.mutex);
  const UsedEntry entry(book_.holds, attempt.entry_);
  leave(attempt);
  for (HeldRecords::Id& record : attempt.records_) book_.end_record(record);
  book_.notify_if_idle();
}

void Attempts::enter(Attempt& attempt, Holds::Entry* entry) {
  if (attempt.exclusive()) {
    attempt.entry_ = entry;
    ++entry->attempts;
  }
  if (attempt.counted()) ++book_.acquisitions;
  attempt.under_way_ = true;
}

void Attempts::leave(Attempt& attempt) {
  if (attempt.entry_ != nullptr) --std::exchange(attempt.entry_, nullptr)->attempts;
  if (attempt.counted()) --book_.acquisitions;
  attempt.under_way_ = false;
}

}  // namespace holdfast::lease
