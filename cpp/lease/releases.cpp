// The keeper's part in releases: what they have to do, and what has become of them.

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "lease/hold_record.h"
#include "lease/lease_keeper.h"

namespace holdfast::lease {

namespace {

// What runs out by the client's clock may be there for a moment longer on the server.
constexpr Millis kGrace{250};

// By when the lease is over for certain, whatever renewals are under way.
TimePoint surely_over(const Hold& hold, TimePoint now) {
  const Millis asked = hold.in_flight ? hold.asked_lease : Millis(0);
  const TimePoint latest = std::max(hold.set_until, after(now, std::max(hold.lease, asked)));
  return after(latest, (latest - now) / 50 + kGrace);
}

}  // namespace

AttemptPlan LeaseKeeper::begin_attempt(Attempt& attempt) {
  using Verdict = AttemptPlan::Verdict;
  const LockName& name = *attempt.name_;
  const OwnerNumber owner = attempt.owner_;
  const MutexLock guard(mutex_);
  AttemptPlan plan;
  if (closing_) {
    plan.verdict = Verdict::kClosed;
    return plan;
  }
  if (!attempt.under_way_ && !admits(attempt)) {
    plan.verdict = Verdict::kUnderWay;
    return plan;
  }
  if (!attempt.under_way_) enter(attempt);
  plan.takes_over = !ledger_.empty() && ledger_.take_over(name, owner);
  Hold* hold = find(name, owner);
  if (hold == nullptr) return plan;
  // What comes late must not revive a hold that this attempt takes for gone.
  if (hold->held() && clock_.now() >= hold->trusted()) note_lost(*hold, kRanOut);
  if (hold->held()) plan.count = hold->levels.count() + 1;
  return plan;
}

void LeaseKeeper::attempt_answered(const LockName& name, OwnerNumber owner) {
  const MutexLock guard(mutex_);
  const ReleaseLedger::Entry* entry = ledger_.find(name, owner);
  const bool taken_over = entry != nullptr && entry->state == ReleaseLedger::State::kTakenOver;
  if (taken_over) drop_pending(name, owner);
}

// What the owner does next does its work; a hold that was being released counts as released.
void LeaseKeeper::drop_pending(const LockName& name, OwnerNumber owner) {
  if (ledger_.empty()) return;
  const ReleaseLedger::Entry* entry = ledger_.find(name, owner);
  if (entry == nullptr) return;
  if (entry->state != ReleaseLedger::State::kReleased) count_released(*entry);
  ledger_.drop(name, owner);
}

void LeaseKeeper::count_released(const ReleaseLedger::Entry& entry) {
  if (!entry.hold || entry.hold->state == HoldState::kLost) return;
  const Hold& hold = *entry.hold;
  count(hold, Stats::Counter::kReleased, hold.levels.count());
  const bool awaited = entry.caller == Caller::kAwaits;
  if (!awaited && !hold.listeners.empty()) post(hold, Event::Kind::kReleased);
}

ReleasePlan LeaseKeeper::begin_release(const LockName& name, OwnerNumber owner, bool all,
                                       ReleaseLedger::Carrier carrier, Caller caller) {
  const MutexLock guard(mutex_);
  if (attempts_.any(name, owner)) {
    ReleasePlan plan;
    plan.verdict = ReleasePlan::Verdict::kUnderWay;
    return plan;
  }
  return begin_any(name, owner, all, std::move(carrier), caller);
}

ReleasePlan LeaseKeeper::begin_giving_back(const LockName& name, OwnerNumber owner, bool all) {
  const MutexLock guard(mutex_);
  return begin_any(name, owner, all, {}, Caller::kAwaits);
}

ReleasePlan LeaseKeeper::begin_any(const LockName& name, OwnerNumber owner, bool all,
                                   ReleaseLedger::Carrier carrier, Caller caller) {
  Hold* hold = find(name, owner);
  if (hold == nullptr) return plan_pending(name, owner, carrier);
  return begin_with(*hold, all, std::move(carrier), caller);
}

std::optional<ReleasePlan> LeaseKeeper::begin_release_of_held(const LockName& name,
                                                              OwnerNumber owner) {
  const MutexLock guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold == nullptr) return std::nullopt;
  return begin_with(*hold, true, {}, Caller::kAwaits);
}

ReleasePlan LeaseKeeper::begin_with(Hold& hold, bool all, ReleaseLedger::Carrier carrier,
                                    Caller caller) {
  if (hold.held() && clock_.now() >= hold.trusted()) note_lost(hold, kRanOut);
  ReleasePlan plan = plan_release(hold, all);
  // It says itself how many holds are left. It counts at once: what its owner does before the
  // answer has come, in a signal handler, builds on it.
  if (plan.verdict == ReleasePlan::Verdict::kPartial) {
    hold.levels.set_count(plan.remaining);
    drop_pending(hold.name, hold.owner);
    tell_idle();
  }
  if (plan.verdict == ReleasePlan::Verdict::kFinal) {
    plan.ticket = enter(hold, std::move(carrier), caller, clock_.now());
  }
  return plan;
}

ReleasePlan LeaseKeeper::plan_release(Hold& hold, bool all) {
  using Verdict = ReleasePlan::Verdict;
  ReleasePlan plan;
  plan.ticket = hold.ticket;
  plan.trusted = hold.trusted();
  plan.closed_until = hold.closed_until;
  if (hold.move) plan.other = hold.move->other;
  if (hold.reason) plan.reason = *hold.reason;
  if (hold.held()) {
    plan.remaining = all ? 0 : hold.levels.count() - 1;
    plan.ended = hold.levels.count() - plan.remaining;
    plan.verdict = plan.remaining > 0 ? Verdict::kPartial : Verdict::kFinal;
  } else {
    // `lost` stays to be seen until the next grant; the error comes once.
    plan.verdict = std::exchange(hold.told, true) ? Verdict::kNotOwned : Verdict::kLost;
  }
  return plan;
}

// A last release: the hold moves from the holds into the ledger.
std::uint64_t LeaseKeeper::enter(Hold& hold, ReleaseLedger::Carrier carrier, Caller caller,
                                 TimePoint now) {
  count_end(hold, now);
  retire(hold, HoldState::kReleasing);
  const OwnerNumber owner = hold.owner;
  ReleaseLedger::Entry fresh{hold.name};
  fresh.carrier = std::move(carrier);
  fresh.until = surely_over(hold, now);
  fresh.trusted = hold.trusted();
  fresh.caller = caller;
  fresh.hold = take(hold);
  return ledger_.open(owner, std::move(fresh)).turn;
}

// The owner holds nothing, but may have begun to release, and asks again.
ReleasePlan LeaseKeeper::plan_pending(const LockName& name, OwnerNumber owner,
                                      ReleaseLedger::Carrier& carrier) {
  using Verdict = ReleasePlan::Verdict;
  using State = ReleaseLedger::State;
  ReleasePlan plan;
  ReleaseLedger::Entry* entry = ledger_.find(name, owner);
  const bool unknown = entry == nullptr || !entry->hold || entry->state == State::kTakenOver;
  if (unknown || entry->caller == Caller::kLeft) return plan;
  plan.trusted = entry->trusted;
  plan.closed_until = entry->hold->closed_until;
  if (entry->hold->move) plan.other = entry->hold->move->other;
  if (entry->state == State::kReleased) {
    plan.verdict = Verdict::kDone;
    ledger_.drop(name, owner);
    return plan;
  }
  ReleaseLedger::Entry again{name};
  again.carrier = std::move(carrier);
  again.until = entry->until;
  plan.verdict = Verdict::kFinal;
  plan.repeated = true;
  plan.ticket = ledger_.open(owner, std::move(again)).turn;
  return plan;
}

void LeaseKeeper::released(const LockName& name, OwnerNumber owner, const ReleasePlan& plan) {
  const MutexLock guard(mutex_);
  if (plan.verdict == ReleasePlan::Verdict::kFinal) {
    count_released(settle_deferred(name, owner, plan));
    return tell_idle();
  }
  Hold* hold = find(name, owner);
  if (hold == nullptr || hold->ticket != plan.ticket) return;
  count(*hold, Stats::Counter::kReleased, plan.ended);
}

void LeaseKeeper::release_found_nothing(const LockName& name, OwnerNumber owner,
                                        const ReleasePlan& plan, const std::string& reason) {
  const MutexLock guard(mutex_);
  if (plan.left) return lose_deferred(name, owner, plan, reason);
  if (plan.verdict == ReleasePlan::Verdict::kFinal) {
    lose_released(ledger_.settle(name, owner, plan.ticket).hold, reason);
    return tell_idle();
  }
  Hold* hold = find(name, owner);
  if (hold == nullptr || hold->ticket != plan.ticket || !hold->held()) return;
  note_lost(*hold, reason);
  hold->told = true;
}

// It turned out during its release that the hold is lost; that release tells of it.
void LeaseKeeper::lose_released(const HoldPtr& hold, const std::string& reason) {
  if (!hold || closed_ || find(hold->name, hold->owner) != nullptr) return;
  keep_loss(hold);
  note_lost(*hold, reason);
  hold->told = true;
}

void LeaseKeeper::keep_loss(const HoldPtr& hold) {
  forget_old_losses();
  holds_.emplace(Key(hold->name, hold->owner), hold);
  ++holds_of_[hold->owner];
}

ReleaseLedger::Turn LeaseKeeper::take_back(const LockName& name, OwnerNumber owner,
                                           ReleaseLedger::Carrier carrier, TimePoint until) {
  const MutexLock guard(mutex_);
  ReleaseLedger::Entry fresh{name};
  fresh.carrier = std::move(carrier);
  fresh.until = until;
  return closed_ ? 0 : ledger_.open(owner, std::move(fresh)).turn;
}

std::optional<TimePoint> LeaseKeeper::carry_on(const LockName& name, OwnerNumber owner,
                                               ReleaseLedger::Turn turn,
                                               ReleaseLedger::Carrier carrier) {
  const MutexLock guard(mutex_);
  if (!ledger_.carry_on(name, owner, turn, std::move(carrier))) return std::nullopt;
  return ledger_.find(name, owner)->until;
}

void LeaseKeeper::disown(const LockName& name, OwnerNumber owner, ReleaseLedger::Turn turn) {
  const MutexLock guard(mutex_);
  ReleaseLedger::Entry* entry = ledger_.open_at(name, owner, turn);
  if (entry == nullptr) return;
  count_released(*entry);
  entry->hold.reset();
}

void LeaseKeeper::ended_late(const LockName& name, OwnerNumber owner, ReleaseLedger::Turn turn,
                             LateEnd how, const std::string& why) {
  const MutexLock guard(mutex_);
  const ReleaseLedger::Entry* entry = ledger_.open_at(name, owner, turn);
  if (entry == nullptr) return;
  if (entry->caller == Caller::kLeft) {
    end_deferred(*entry, owner, how, why);
    return tell_idle();
  }
  const bool to_be_told = entry->hold != nullptr;
  if (how == LateEnd::kRefused) {
    ledger_.keep(name, owner, turn, ReleaseLedger::State::kRefused);
  } else if (how == LateEnd::kDone && to_be_told) {
    count_released(*entry);
    ledger_.keep(name, owner, turn, ReleaseLedger::State::kReleased);
  } else {
    const HoldPtr hold = ledger_.settle(name, owner, turn).hold;
    if (how == LateEnd::kExpired && hold && find(name, owner) == nullptr) {
      count(*hold, Stats::Counter::kLost);
      hold->state = HoldState::kLost;
      hold->reason = std::make_unique<std::string>(kReleaseExpired);
      keep_loss(hold);
      losses_.push_back(hold->weak_from_this());
    }
  }
  tell_idle();
}

void LeaseKeeper::leave_to_lease(const LockName& name, OwnerNumber owner) {
  const MutexLock guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold == nullptr || !hold->held()) return;
  count_end(*hold, clock_.now());
  count(*hold, Stats::Counter::kReleased, hold->levels.count());
  erase(*hold);
}

}  // namespace holdfast::lease
