// The keeper's part in deferred releases: what becomes of those whose callers have not waited for
// the answer. Only events tell of it.

#include <utility>

#include "base/mutex.h"
#include "lease/hold_record.h"
#include "lease/lease_keeper.h"

namespace holdfast::lease {

std::shared_ptr<Hold> LeaseKeeper::defer(const LockName& name, OwnerNumber owner,
                                         ReleaseLedger::Turn turn) {
  const MutexLock guard(mutex_);
  ReleaseLedger::Entry* entry = ledger_.open_at(name, owner, turn);
  if (entry == nullptr) return nullptr;
  entry->caller = Caller::kLeft;
  return entry->hold;
}

void LeaseKeeper::release_hindered(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                                   const std::string& reason) {
  const MutexLock guard(mutex_);
  if (ledger_.open_at(name, owner, plan.ticket) != nullptr) tell_unreleased(name, owner, reason);
}

void LeaseKeeper::tell_unreleased(const LockName& name, OwnerNumber owner,
                                  const std::string& reason) {
  events_->post(
      {Event::Kind::kUnreleased, name.bytes(), static_cast<std::uint64_t>(owner), {}, reason});
}

// The server has answered. Where an attempt of the owner's has taken the entry over, only what the
// attempt may be granted is pending from now on.
ReleaseLedger::Entry LeaseKeeper::settle_deferred(const LockName& name, OwnerNumber owner,
                                                  const ReleasePlan& plan) {
  ReleaseLedger::Entry settled = ledger_.settle(name, owner, plan.ticket);
  ReleaseLedger::Entry* taken_over = ledger_.find(name, owner);
  if (plan.left && taken_over != nullptr && taken_over->hold == plan.left) {
    settled.caller = taken_over->caller;
    settled.hold = std::exchange(taken_over->hold, nullptr);
  }
  return settled;
}

// The server no longer had it. What its owner has got since is left alone.
void LeaseKeeper::lose_deferred(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                                const std::string& reason) {
  const bool overtaken = ledger_.open_at(name, owner, plan.ticket) == nullptr;
  (void)settle_deferred(name, owner, plan);
  note_lost_late(plan.left, reason, overtaken);
  tell_idle();
}

void LeaseKeeper::note_lost_late(const HoldPtr& hold, const std::string& reason, bool overtaken) {
  if (hold->state == HoldState::kLost) return;
  count(*hold, Stats::Counter::kLost);
  hold->state = HoldState::kLost;
  hold->reason = std::make_unique<std::string>(reason);
  hold->told = true;
  post(*hold, Event::Kind::kLostLate);
  if (overtaken || closed_ || find(hold->name, hold->owner) != nullptr) return;
  keep_loss(hold);
  losses_.push_back(hold);
}

void LeaseKeeper::end_deferred(const ReleaseLedger::Entry& entry, OwnerNumber owner, LateEnd how,
                               const std::string& why) {
  const LockName name = entry.name;
  const ReleaseLedger::Turn turn = entry.turn;
  if (how == LateEnd::kRefused) {
    ledger_.keep(name, owner, turn, ReleaseLedger::State::kRefused);
    return tell_unreleased(name, owner, why);
  }
  const ReleaseLedger::Entry settled = ledger_.settle(name, owner, turn);
  if (how == LateEnd::kDone) return count_released(settled);
  if (settled.hold) note_lost_late(settled.hold, kReleaseExpired, false);
}

}  // namespace holdfast::lease
