#include "locks/lease/attempts.h"

#include <algorithm>
#include <utility>

#include "locks/lease/hold.h"
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

namespace {

HeldRecords::Id record_at(const std::vector<HeldRecords::Id>& records, std::int64_t place) {
  const auto at = static_cast<std::size_t>(place);
  return at < records.size() ? records[at] : 0;
}

}  // namespace

bool Attempt::is_excluded(const Holds::Entry* entry) const {
  return !under_way_ && exclusive() && entry->attempts > 0;
}

bool Attempt::begin() { return attempts_->enter_alone(*this); }

void Attempt::begin_beside() { attempts_->enter_beside(*this); }

// A kind that excludes no other has no entry before its grant.
Holds::Entry* Attempts::entry_of(const Attempt& attempt) {
  if (attempt.entry_ != nullptr) return attempt.entry_;
  if (attempt.exclusive()) return &book_.holds.at(*attempt.name_, attempt.owner_);
  return book_.holds.find(*attempt.name_, attempt.owner_);
}

AttemptPlan Attempts::begin(Attempt& attempt) {
  using Verdict = AttemptPlan::Verdict;
  const MutexLock guard(book_.mutex);
  const UsedEntry entry(book_.holds, entry_of(attempt));
  Hold* const hold = entry ? entry->current() : nullptr;
  // A reply that comes later must not revive a hold that this attempt takes for gone.
  if (hold != nullptr) (void)book_.lose_if_over(*hold);
  if (book_.closing) return {Verdict::kClosed};
  if (attempt.is_excluded(entry.get())) return {Verdict::kUnderWay};
  if (would_hide(*attempt.name_, attempt.owner_, hold)) return {Verdict::kLost};
  if (!attempt.under_way_) enter(attempt, entry.get());
  AttemptPlan plan;
  plan.takes_over = entry && book_.holds.take_over(*entry);
  if (hold != nullptr && hold->held()) {
    plan.count = hold->levels.count() + 1;
  } else {
    plan.noted = book_.notes.replace(*attempt.name_, attempt.owner_);
  }
  return plan;
}

// Usually not: then nothing is looked up.
bool Attempts::would_hide(const LockName& name, OwnerNumber owner, const Hold* hold) {
  const bool lost = hold != nullptr && !hold->held();
  if (!lost && name.side() == Side::kWhole && book_.blocks.empty()) return false;
  return hidden_loss(name, owner).has_value();
}

std::optional<std::string> Attempts::refuse(const LockName& name, OwnerNumber owner) {
  const MutexLock guard(book_.mutex);
  std::optional<std::string> loss = hidden_loss(name, owner);
  if (Hold* const hold = loss ? hidden(name, owner) : nullptr) hold->refused = true;
  return loss;
}

std::optional<std::string> Attempts::hidden_loss(const LockName& name, OwnerNumber owner) {
  const OpenBlocks::Loss* const open =
      book_.blocks.empty() ? nullptr : book_.blocks.refusing(name, owner);
  if (open != nullptr) {
    return open->reason +
           "; nothing was acquired, as a `with` block that lost it is open: leave it";
  }
  const Hold* const hold = hidden(name, owner);
  if (hold == nullptr) return std::nullopt;
  return hold->reason() + "; nothing was acquired: call release() or acquire again";
}

// A lost hold of the owner's, on any side of the name.
Hold* Attempts::hidden(const LockName& name, OwnerNumber owner) {
  constexpr Side kSides[] = {Side::kRead, Side::kWrite};
  Hold* const whole = book_.holds.hold(name, owner);
  if (whole != nullptr && hides_loss(*whole)) return whole;
  if (name.side() == Side::kWhole) return nullptr;
  for (const Side side : kSides) {
    Hold* const hold =
        side == name.side() ? nullptr : book_.holds.hold(LockName(name, side), owner);
    if (hold == nullptr) continue;
    (void)book_.lose_if_over(*hold);
    if (hides_loss(*hold)) return hold;
  }
  return nullptr;
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
    book_.drop_release(*entry);
    if (!entry->hold || !entry->hold->held()) {
      Hold& fresh = book_.holds.grant(*entry, HoldPtr(new Hold(grant, entry->owner)));
      fresh.group = static_cast<std::uint32_t>(book_.holds.grants() / RenewalBatch::kMostKeys);
      if (book_.tracks) fresh.next_look = after(fresh.since, kYoung);
      if (book_.notes.all()) fresh.noted = Noted::kDue;
      book_.events.count(fresh, Stats::Counter::kHeld);
    }
    Hold& hold = *entry->hold;
    hold.add_level(grant);
    if (grant.purpose != nullptr) book_.notes.said(hold, *grant.purpose);
    if (grant.lease.renewed) book_.plan_first_renewal(hold, grant);
    if (book_.records) book_.record(hold, record_at(records, i));
    book_.arm(hold, grant.sent);
    hold.trace(Hold::Step::kGranted);
  }
  return true;
}

void Attempts::introduce(Grant grant, const std::string& about, bool all) {
  grant.about = &about;
  Attempt attempt(*this, grant.name, grant.owner, Attempt::Kind::kAround);
  if (!granted(grant, attempt)) return;
  const MutexLock guard(book_.mutex);
  if (Hold* const key = book_.holds.hold(grant.name, grant.owner)) {
    book_.notes.begin(HoldPtr(key), all);
  }
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
  if (attempt.is_excluded(entry)) return false;
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
