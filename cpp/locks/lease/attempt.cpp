#include "locks/lease/attempt.h"

#include <algorithm>
#include <utility>

#include "locks/lease/renewal_batch.h"

namespace holdfast::lease {

namespace {

// The next grant would hide the loss: no release has raised it, and no acquire. A release whose
// lease ran out before it had an answer has raised, and a fixed lease that ran out is over.
bool hides_loss(const Hold& hold) {
  if (hold.state != HoldState::kLost || hold.reported || hold.refused || hold.excused) return false;
  const std::string reason = hold.reason();
  return reason != kReleaseExpired && (reason != kRanOut || hold.renewed());
}

}  // namespace

AttemptPlan Attempt::begin() {
  const MutexLock guard(keeper_.mutex);
  const UsedEntry entry(keeper_.holds, place());
  Hold* const hold = entry.current();
  // A reply that comes later must not revive a hold that this attempt takes for gone.
  if (hold != nullptr) keeper_.lose_if_over(*hold, keeper_.clock.now());
  if (keeper_.closing) return {AttemptPlan::Kind::kClosed};
  if (is_excluded(entry.get())) return {AttemptPlan::Kind::kUnderWay};
  // Usually no loss can be there: then nothing is looked up.
  const bool lost = hold != nullptr && !hold->held();
  const bool may_hide = lost || name_->side() != Side::kWhole || !keeper_.blocks.empty();
  if (may_hide && hidden_loss()) return {AttemptPlan::Kind::kLost};
  if (!under_way_) enter(entry.get());
  AttemptPlan plan;
  plan.takes_over = entry && keeper_.holds.take_over(*entry);
  if (entry.held() != nullptr) {
    plan.count = hold->levels.count() + 1;
  } else {
    plan.noted = keeper_.note_book.replace(*name_, owner_);
  }
  return plan;
}

bool Attempt::enter(bool beside) {
  const MutexLock guard(keeper_.mutex);
  Holds::Entry* const entry = place();
  if (!beside && is_excluded(entry)) return false;
  enter(entry);
  return true;
}

void Attempt::enter(Holds::Entry* entry) {
  if (exclusive()) {
    entry_ = entry;
    ++entry->attempts;
  }
  if (counted()) ++keeper_.acquisitions;
  under_way_ = true;
}

void Attempt::leave() {
  if (entry_ != nullptr) --std::exchange(entry_, nullptr)->attempts;
  if (counted()) --keeper_.acquisitions;
  under_way_ = false;
}

void Attempt::leave_ungranted() {
  const MutexLock guard(keeper_.mutex);
  const UsedEntry entry(keeper_.holds, entry_);
  leave();
  for (HeldRecords::Id& record : records_) keeper_.records.end(record);
  keeper_.notify_if_idle();
}

void Attempt::record(const Renewal& kind, Millis longest, std::int64_t amount) {
  const MutexLock guard(keeper_.mutex);
  if (!under_way_) return;
  const TimePoint until = after(keeper_.clock.now(), longest);
  records_.resize(static_cast<std::size_t>(amount));
  OwnerNumber owner = owner_;
  for (HeldRecords::Id& record : records_) {
    keeper_.records.expect(record, *name_, owner, kind, until);
    owner = owner_after(owner, 1);
  }
}

void Attempt::leave_record() {
  const MutexLock guard(keeper_.mutex);
  records_.clear();
}

void Attempt::answered() {
  const EntryLock entry(keeper_, *name_, owner_);
  const bool taken_over = entry && entry->release == Holds::ReleaseState::kTakenOver;
  if (taken_over) keeper_.drop_release(*entry);
}

bool Attempt::granted(const Grant& grant) {
  const MutexLock guard(keeper_.mutex);
  if (keeper_.closing) return false;
  Holds::Entry* entry = entry_;
  leave();
  std::vector<HeldRecords::Id> records = std::exchange(records_, {});
  if (keeper_.recorded) records.resize(static_cast<std::size_t>(grant.amount));
  for (std::int64_t i = 0; i < grant.amount; ++i) {
    const bool known = i == 0 && entry != nullptr;
    if (!known) entry = &keeper_.holds.at(grant.name, owner_after(grant.owner, i));
    if (entry->release != Holds::ReleaseState::kNone) keeper_.drop_release(*entry);
    if (!entry->hold || !entry->hold->held()) {
      Hold& fresh = keeper_.holds.grant(*entry, HoldPtr(new Hold(grant, entry->owner)));
      fresh.group = static_cast<std::uint32_t>(keeper_.holds.grants() / RenewalBatch::kMostKeys);
      if (keeper_.tracks) fresh.next_look = after(fresh.since, kYoung);
      if (keeper_.note_book.all) fresh.noted = Noted::kDue;
      keeper_.events.count(fresh, Stats::Counter::kHeld);
    }
    Hold& hold = *entry->hold;
    hold.add_level(grant);
    if (grant.purpose != nullptr) keeper_.note_book.said(hold, *grant.purpose);
    if (grant.about != nullptr) {  // the client's key: its first renewal, at once, makes it
      hold.internal = true;
      hold.ensure_extras().about = *grant.about;
      hold.next_renewal = grant.sent;
      hold.next_look = kNever;
    } else if (grant.lease.renewed) {
      const Millis lease = hold.part_of(hold.lease, grant.sent);
      hold.next_renewal = keeper_.grid.first(grant.sent, lease, keeper_.holds.size());
    }
    if (keeper_.recorded) keeper_.records.granted(hold, records[static_cast<std::size_t>(i)]);
    keeper_.arm(hold, grant.sent);
    hold.trace(Hold::Step::kGranted);
  }
  return true;
}

// ---- A loss that a grant would hide

std::optional<std::string> Attempt::refuse() {
  const MutexLock guard(keeper_.mutex);
  std::optional<std::string> loss = hidden_loss();
  if (Hold* const hold = loss ? hidden() : nullptr) hold->refused = true;
  return loss;
}

std::optional<std::string> Attempt::hidden_loss() {
  const OpenBlocks::Loss* const open =
      keeper_.blocks.empty() ? nullptr : keeper_.blocks.refusing(*name_, owner_);
  if (open != nullptr) {
    return open->reason +
           "; nothing was acquired, as a `with` block that lost it is open: leave it";
  }
  const Hold* const hold = hidden();
  if (hold == nullptr) return std::nullopt;
  return hold->reason() + "; nothing was acquired: call release() or acquire again";
}

Hold* Attempt::hidden() {
  Hold* const whole = keeper_.holds.hold(*name_, owner_);
  if (whole != nullptr && hides_loss(*whole)) return whole;
  if (name_->side() == Side::kWhole) return nullptr;
  for (const Side side : {Side::kRead, Side::kWrite}) {
    Hold* const hold =
        side == name_->side() ? nullptr : keeper_.holds.hold(LockName(*name_, side), owner_);
    if (hold == nullptr) continue;
    keeper_.lose_if_over(*hold, keeper_.clock.now());
    if (hides_loss(*hold)) return hold;
  }
  return nullptr;
}

void Attempt::forget_block() {
  const EntryLock entry(keeper_, *name_, owner_);
  Hold* const hold = entry.current();
  if (hold != nullptr && hold->blocks > 0) {
    --hold->blocks;
  } else {
    (void)keeper_.blocks.end(*name_, owner_);
  }
}

}  // namespace holdfast::lease
