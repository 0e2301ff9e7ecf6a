// The part of Releases in deferred ones: what becomes of those whose callers have not waited for
// the answer. Only events report it.

#include <utility>

#include "lease/hold_record.h"
#include "lease/releases.h"

namespace holdfast::lease {

HoldPtr Releases::defer(const LockName& name, OwnerNumber owner, Serial serial) {
  const MutexLock guard(book_.mutex);
  Entry* entry = book_.ledger.open_at(name, owner, serial);
  if (entry == nullptr) return nullptr;
  entry->caller = Caller::kLeft;
  return entry->hold;
}

void Releases::report_trouble(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                              const std::string& reason) {
  const MutexLock guard(book_.mutex);
  if (book_.ledger.open_at(name, owner, plan.serial) != nullptr)
    book_.events.post_unreleased(name, owner, reason);
}

// The server has answered. Where an attempt of the owner's has taken the entry over, only what the
// attempt may be granted is pending from now on.
Releases::Entry Releases::settle(const LockName& name, OwnerNumber owner, const ReleasePlan& plan) {
  Entry settled = book_.ledger.settle(name, owner, plan.serial);
  Entry* taken_over = book_.ledger.find(name, owner);
  if (plan.deferred && taken_over != nullptr && taken_over->hold == plan.deferred) {
    settled.caller = taken_over->caller;
    settled.hold = std::exchange(taken_over->hold, nullptr);
  }
  return settled;
}

// The server no longer had it. What its owner has got since is left alone.
void Releases::lose_deferred(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                             const std::string& reason) {
  const bool overtaken = book_.ledger.open_at(name, owner, plan.serial) == nullptr;
  (void)settle(name, owner, plan);
  lose_after_release(plan.deferred, reason, overtaken);
  book_.notify_if_idle();
}

void Releases::lose_after_release(const HoldPtr& hold, const std::string& reason, bool overtaken) {
  book_.end_record(hold);
  if (hold->state == HoldState::kLost) return;
  book_.events.count(*hold, Stats::Counter::kLost);
  hold->state = HoldState::kLost;
  hold->extras().reason = reason;
  hold->reported = true;
  book_.events.post(*hold, Event::Kind::kLostAfterRelease);
  if (overtaken || book_.closed || book_.holds.find(hold->name, hold->owner) != nullptr) return;
  book_.holds.put_back(hold);
  book_.holds.add_loss(*hold);
}

void Releases::end_deferred(const Entry& entry, OwnerNumber owner, End how,
                            const std::string& why) {
  const LockName name = entry.name;
  const Serial serial = entry.serial;
  if (how == End::kRefused) {
    book_.ledger.keep(name, owner, serial, ReleaseLedger::State::kRefused);
    return book_.events.post_unreleased(name, owner, why);
  }
  const Entry settled = book_.ledger.settle(name, owner, serial);
  book_.end_record(settled.hold);
  if (how == End::kDone) return book_.count_released(settled);
  if (settled.hold) lose_after_release(settled.hold, kReleaseExpired, false);
}

}  // namespace holdfast::lease
