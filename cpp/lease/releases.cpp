#include "lease/releases.h"

#include <algorithm>
#include <utility>

#include "lease/hold_record.h"

namespace holdfast::lease {

namespace {

// What runs out by the client's clock may be there for a moment longer on the server.
constexpr Millis kGrace{250};

// By when the lease is over for certain, whatever renewals are under way.
TimePoint surely_over(const Hold& hold, TimePoint now) {
  const Millis sent = hold.in_flight ? hold.sent_lease : Millis(0);
  const TimePoint latest = std::max(hold.set_until, after(now, std::max(hold.lease, sent)));
  return after(latest, (latest - now) / 50 + kGrace);
}

}  // namespace

ReleasePlan Releases::begin(const LockName& name, OwnerNumber owner, bool all, Command command,
                            Caller caller) {
  const MutexLock guard(book_.mutex);
  if (book_.attempts.any(name, owner)) {
    ReleasePlan plan;
    plan.verdict = ReleasePlan::Verdict::kUnderWay;
    return plan;
  }
  return begin_any(name, owner, all, std::move(command), caller);
}

ReleasePlan Releases::end_block(const LockName& name, OwnerNumber owner, Command command,
                                Caller caller) {
  const MutexLock guard(book_.mutex);
  ReleasePlan plan;
  const bool under_way = book_.attempts.any(name, owner);
  Hold* const hold = book_.holds.find(name, owner);
  if (hold != nullptr) book_.lose_if_over(*hold);
  if (const std::optional<std::string> lost = close_block(name, owner, hold)) {
    plan.verdict = ReleasePlan::Verdict::kLost;
    plan.reason = *lost;
    const bool held = hold != nullptr && hold->held();
    plan.held_again = held || under_way || book_.ledger.find(name, owner) != nullptr;
    return plan;
  }
  if (under_way) {
    plan.verdict = ReleasePlan::Verdict::kUnderWay;
    return plan;
  }
  if (hold == nullptr) return plan_pending(name, owner, command);
  return begin_with(*hold, false, std::move(command), caller);
}

// One block less of the owner's. Why it has lost its grant; nothing: it has not. `hold`: the
// owner's; null: none.
std::optional<std::string> Releases::close_block(const LockName& name, OwnerNumber owner,
                                                 Hold* hold) {
  if (hold != nullptr && hold->blocks > 0) {
    --hold->blocks;
    return std::nullopt;
  }
  if (book_.blocks.empty()) return std::nullopt;
  std::optional<std::string> lost = book_.blocks.end(name, owner);
  if (lost && hold != nullptr && !hold->held()) hold->reported = true;
  return lost;
}

ReleasePlan Releases::begin_giving_back(const LockName& name, OwnerNumber owner, bool all) {
  const MutexLock guard(book_.mutex);
  return begin_any(name, owner, all, {}, Caller::kAwaits);
}

ReleasePlan Releases::begin_any(const LockName& name, OwnerNumber owner, bool all, Command command,
                                Caller caller) {
  Hold* hold = book_.holds.find(name, owner);
  if (hold == nullptr) return plan_pending(name, owner, command);
  return begin_with(*hold, all, std::move(command), caller);
}

std::optional<ReleasePlan> Releases::begin_of_held(const LockName& name, OwnerNumber owner) {
  const MutexLock guard(book_.mutex);
  Hold* hold = book_.holds.find(name, owner);
  if (hold == nullptr) return std::nullopt;
  return begin_with(*hold, true, {}, Caller::kAwaits);
}

ReleasePlan Releases::begin_with(Hold& hold, bool all, Command command, Caller caller) {
  book_.lose_if_over(hold);
  if (book_.closed && hold.held()) return {};  // it stays, until it is lost
  ReleasePlan plan = plan_release(hold, all);
  // It says itself how many holds are left. It counts at once: what its owner does before the
  // answer has come, in a signal handler, builds on it.
  if (plan.verdict == ReleasePlan::Verdict::kPartial) {
    hold.levels.set_count(plan.remaining);
    book_.drop_pending(hold.name, hold.owner);
    book_.notify_if_idle();
  }
  if (plan.verdict == ReleasePlan::Verdict::kFinal) {
    plan.serial = enter(hold, std::move(command), caller);
  }
  if (plan.verdict == ReleasePlan::Verdict::kLost) book_.blocks.raised(hold.name, hold.owner);
  return plan;
}

// A last release: the hold moves from the table into the ledger.
Releases::Serial Releases::enter(Hold& hold, Command command, Caller caller) {
  const TimePoint now = book_.clock.now();
  book_.events.count_end(hold, now);
  hold.trace(Hold::Step::kReleased);
  book_.note_late_renewal(hold);
  hold.state = HoldState::kReleasing;
  hold.stop_renewing();
  const OwnerNumber owner = hold.owner;
  Entry fresh{hold.name};
  fresh.command = std::move(command);
  fresh.until = surely_over(hold, now);
  fresh.trusted = hold.trusted();
  fresh.caller = caller;
  book_.blocks.release(hold.name, owner, std::exchange(hold.blocks, 0));
  fresh.hold = book_.holds.take(hold);
  return book_.ledger.open(owner, std::move(fresh)).serial;
}

// The owner holds nothing, but may have begun to release, and releases again.
ReleasePlan Releases::plan_pending(const LockName& name, OwnerNumber owner, Command& command) {
  using Verdict = ReleasePlan::Verdict;
  using State = ReleaseLedger::State;
  ReleasePlan plan;
  Entry* entry = book_.ledger.find(name, owner);
  const bool unknown = entry == nullptr || !entry->hold || entry->state == State::kTakenOver;
  if (unknown || entry->caller == Caller::kLeft) return plan;
  plan.trusted = entry->trusted;
  plan.closed_until = entry->hold->closed_until();
  if (entry->hold->move() != nullptr) plan.other = entry->hold->move()->other;
  if (entry->state == State::kReleased) {
    plan.verdict = Verdict::kDone;
    book_.ledger.drop(name, owner);
    return plan;
  }
  Entry again{name};
  again.command = std::move(command);
  again.until = entry->until;
  plan.verdict = Verdict::kFinal;
  plan.repeated = true;
  plan.serial = book_.ledger.open(owner, std::move(again)).serial;
  return plan;
}

void Releases::done(const LockName& name, OwnerNumber owner, const ReleasePlan& plan) {
  const MutexLock guard(book_.mutex);
  if (plan.verdict == ReleasePlan::Verdict::kFinal) {
    const Entry settled = settle(name, owner, plan);
    book_.count_released(settled);
    if (book_.recorded) book_.end_record(settled.hold);
    return book_.notify_if_idle();
  }
  Hold* hold = book_.holds.find(name, owner);
  if (hold == nullptr || hold->serial != plan.serial) return;
  book_.events.count(*hold, Stats::Counter::kReleased, plan.ended);
}

void Releases::found_nothing(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                             const std::string& reason) {
  const MutexLock guard(book_.mutex);
  if (plan.deferred) return lose_deferred(name, owner, plan, reason);
  if (plan.verdict == ReleasePlan::Verdict::kFinal) {
    lose(book_.ledger.settle(name, owner, plan.serial).hold, reason);
    return book_.notify_if_idle();
  }
  Hold* hold = book_.holds.find(name, owner);
  if (hold == nullptr || hold->serial != plan.serial || !hold->held()) return;
  lose_in_release(*hold, reason);
}

// It turned out during its release that the hold is lost; that release reports it.
void Releases::lose(const HoldPtr& hold, const std::string& reason) {
  book_.end_record(hold);
  if (!hold || book_.closed || book_.holds.find(hold->name, hold->owner) != nullptr) return;
  book_.holds.put_back(hold);
  lose_in_release(*hold, reason);
}

void Releases::lose_in_release(Hold& hold, const std::string& reason) {
  book_.lose(hold, reason);
  hold.reported = true;
  book_.blocks.raised(hold.name, hold.owner);
}

Releases::Serial Releases::take_back(const LockName& name, OwnerNumber owner, Command command,
                                     TimePoint until) {
  const MutexLock guard(book_.mutex);
  Entry fresh{name};
  fresh.command = std::move(command);
  fresh.until = until;
  return book_.closed ? 0 : book_.ledger.open(owner, std::move(fresh)).serial;
}

std::optional<TimePoint> Releases::resume(const LockName& name, OwnerNumber owner, Serial serial,
                                          Command command) {
  const MutexLock guard(book_.mutex);
  if (!book_.ledger.resume(name, owner, serial, std::move(command))) return std::nullopt;
  return book_.ledger.find(name, owner)->until;
}

void Releases::forget_caller(const LockName& name, OwnerNumber owner, Serial serial) {
  const MutexLock guard(book_.mutex);
  Entry* entry = book_.ledger.open_at(name, owner, serial);
  if (entry == nullptr) return;
  book_.count_released(*entry);
  entry->hold.reset();
}

void Releases::ended(const LockName& name, OwnerNumber owner, Serial serial, End how,
                     const std::string& why) {
  const MutexLock guard(book_.mutex);
  const Entry* entry = book_.ledger.open_at(name, owner, serial);
  if (entry == nullptr) return;
  if (entry->caller == Caller::kLeft) {
    end_deferred(*entry, owner, how, why);
    return book_.notify_if_idle();
  }
  const bool is_reported = entry->hold != nullptr;
  if (how == End::kRefused) {
    book_.ledger.keep(name, owner, serial, ReleaseLedger::State::kRefused);
  } else if (how == End::kDone && is_reported) {
    book_.count_released(*entry);
    book_.end_record(entry->hold);
    book_.ledger.keep(name, owner, serial, ReleaseLedger::State::kReleased);
  } else {
    const HoldPtr hold = book_.ledger.settle(name, owner, serial).hold;
    book_.end_record(hold);
    if (how == End::kExpired && hold && book_.holds.find(name, owner) == nullptr) expire(hold);
  }
  book_.notify_if_idle();
}

// Its owner's next release reports it.
void Releases::expire(const HoldPtr& hold) {
  book_.events.count(*hold, Stats::Counter::kLost);
  hold->state = HoldState::kLost;
  hold->extras().reason = kReleaseExpired;
  book_.holds.put_back(hold);
  book_.holds.add_loss(*hold);
}

void Releases::leave_to_lease(const LockName& name, OwnerNumber owner, Millis lease) {
  const MutexLock guard(book_.mutex);
  Hold* hold = book_.holds.find(name, owner);
  if (hold == nullptr || !hold->held()) return;
  book_.events.count_end(*hold, book_.clock.now());
  book_.events.count(*hold, Stats::Counter::kReleased, hold->levels.count());
  hold->trace(Hold::Step::kReleased);
  hold->set_until = std::max(hold->set_until, after(book_.clock.now(), lease));
  book_.renew_record(*hold);
  book_.note_late_renewal(*hold);
  book_.holds.erase(*hold);
}

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
