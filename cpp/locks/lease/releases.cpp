#include "locks/lease/releases.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "locks/lease/keeper.h"

namespace holdfast::lease {

namespace {

// By when the lease is over for certain, whatever renewals are under way.
TimePoint surely_over(const Hold& hold, TimePoint now) {
  const Millis sent = hold.in_flight ? hold.sent_lease : Millis(0);
  return surely_over(now, std::max(hold.set_until, after(now, std::max(hold.lease, sent))));
}

// The part of the plan that the command has to say of the hold.
void describe(ReleasePlan& plan, const Hold& hold) {
  plan.trusted = hold.trusted();
  plan.closed_until = hold.closed_until();
  if (hold.move() != nullptr) plan.other = hold.move()->other;
}

Subject subject_of(const Holds::Entry& entry) {
  return {entry.name, entry.owner, entry.hold ? entry.hold->renewal->word() : std::string_view()};
}

// The release of the entry begins with that plan.
void open(Keeper& keeper, Holds::Entry& entry, ReleasePlan& plan, ReleaseStart& start,
          TimePoint until) HOLDFAST_REQUIRES(keeper.mutex) {
  plan.command = start.command.get();
  keeper.holds.open(entry, std::move(start.command), until);
  plan.until = entry.until;
}

// The owner holds nothing, but may have begun to release, and releases again.
ReleasePlan plan_pending(Keeper& keeper, Holds::Entry& entry, ReleaseStart& start)
    HOLDFAST_REQUIRES(keeper.mutex) {
  ReleasePlan plan;
  const bool known = entry.leaves() && entry.release != Holds::ReleaseState::kTakenOver;
  if (!known || entry.caller == Holds::Caller::kLeft) return plan;
  if (entry.release == Holds::ReleaseState::kReleased) {
    plan.kind = ReleasePlan::Kind::kDone;
    keeper.holds.drop(entry);
    return plan;
  }
  describe(plan, *entry.hold);
  plan.kind = ReleasePlan::Kind::kFinal;
  plan.repeated = true;
  open(keeper, entry, plan, start, entry.until);
  return plan;
}

ReleasePlan begin_with(Keeper& keeper, Holds::Entry& entry, Ending ending, ReleaseStart& start)
    HOLDFAST_REQUIRES(keeper.mutex) {
  Hold* const hold = entry.current();
  if (hold == nullptr) return plan_pending(keeper, entry, start);
  const TimePoint now = start.at ? *start.at : keeper.clock.now();
  keeper.lose_if_over(*hold, now);
  ReleasePlan plan;
  describe(plan, *hold);
  if (!hold->held()) {  // the loss stays to be seen until the next grant; the error comes once
    plan.reason = hold->reason();
    if (!std::exchange(hold->reported, true)) plan.kind = ReleasePlan::Kind::kLost;
    return plan;
  }
  if (keeper.closed) return {};  // it stays, until it is lost
  plan.ended = hold->levels.count_of(ending);
  if (plan.ended == 0) return plan;
  plan.remaining = hold->levels.count() - plan.ended;
  // It says itself how many holds are left. It counts at once: what its owner does before the
  // answer has come, in a signal handler, builds on it.
  if (plan.remaining > 0) {
    plan.kind = ReleasePlan::Kind::kPartial;
    plan.hold = entry.hold;
    hold->levels.end(ending);
    keeper.drop_release(entry);
    keeper.notify_if_idle();
    return plan;
  }
  plan.kind = ReleasePlan::Kind::kFinal;
  keeper.end_note(*hold);
  keeper.events.count_end(*hold, now);
  hold->trace(Hold::Step::kReleased);
  keeper.late_renewals.note(*hold, now);
  keeper.blocks.release(entry.name, entry.owner, std::exchange(hold->blocks, 0));
  keeper.holds.leave(entry);
  entry.caller = start.caller;
  open(keeper, entry, plan, start, surely_over(*hold, now));
  return plan;
}

// For an owner's own call, which may come while it is acquiring: from a signal handler.
ReleasePlan begin_own(Keeper& keeper, const UsedEntry& entry, Ending ending, ReleaseStart& start)
    HOLDFAST_REQUIRES(keeper.mutex) {
  ReleasePlan plan;
  if (!entry) return plan;
  if (entry->attempts == 0) return begin_with(keeper, *entry, ending, start);
  plan.kind = ReleasePlan::Kind::kUnderWay;
  return plan;
}

// It turned out during its release that the hold is lost; that release reports it. The loss may
// have been found on another way meanwhile.
void lose_in_release(Keeper& keeper, Hold& hold, const std::string& reason)
    HOLDFAST_REQUIRES(keeper.mutex) {
  if (hold.state != HoldState::kLost) keeper.lose(hold, reason);
  hold.reported = true;
}

// The loss of a hold that had left the table is in its entry from now on.
void keep_loss(Keeper& keeper, Holds::Entry& entry, const HoldPtr& hold)
    HOLDFAST_REQUIRES(keeper.mutex) {
  keeper.holds.put_back(entry, hold);
  keeper.holds.lose(*hold);
}

// A deferred release has found it, so no caller is left to raise it. `newest`: the owner has done
// nothing else since; the entry is there.
void lose_after_release(Keeper& keeper, Holds::Entry* entry, bool newest, const HoldPtr& hold,
                        const std::string& reason) HOLDFAST_REQUIRES(keeper.mutex) {
  keeper.records.end(hold->record);
  if (hold->state == HoldState::kLost) return;
  keeper.events.count(*hold, Stats::Counter::kLost);
  hold->ensure_extras().reason = reason;
  hold->reported = true;
  keeper.events.post(*hold, Event::Kind::kLostAfterRelease);
  const bool stays = newest && !keeper.closed && !entry->hold;
  if (stays) return keep_loss(keeper, *entry, hold);
  hold->state = HoldState::kLost;
}

// Its holds end where they are, and count as released: the server has them no more under this
// owner.
void end_released(Keeper& keeper, Holds::Entry& entry, Hold& hold) HOLDFAST_REQUIRES(keeper.mutex) {
  keeper.events.count(hold, Stats::Counter::kReleased);
  keeper.events.count_end(hold, keeper.clock.now());
  keeper.records.end(hold.record);
  keeper.end_note(hold);
  keeper.holds.end(entry);
}

}  // namespace

Millis ReleasePlan::closed_for(TimePoint now) const {
  if (closed_until <= now) return Millis(0);
  return std::chrono::ceil<Millis>(closed_until - now);
}

ReleasePlan Releases::begin(const LockName& name, OwnerNumber owner, Ending ending, Start start) {
  const EntryLock entry(keeper_, name, owner);
  return begin_own(keeper_, entry, ending, start);
}

ReleasePlan Releases::end_block(const LockName& name, OwnerNumber owner, Ending ending,
                                Start start) {
  const EntryLock entry(keeper_, name, owner);
  Hold* const hold = entry.current();
  if (!start.at) start.at = keeper_.clock.now();
  if (hold != nullptr) keeper_.lose_if_over(*hold, *start.at);
  std::optional<std::string> lost;
  if (hold != nullptr && hold->blocks > 0) {
    --hold->blocks;
  } else if (!keeper_.blocks.empty()) {
    lost = keeper_.blocks.end(name, owner);
  }
  if (!lost) return begin_own(keeper_, entry, ending, start);
  // The block has lost its grant. What its owner has acquired since is not the block's.
  if (hold != nullptr && !hold->held()) hold->reported = true;
  ReleasePlan plan;
  plan.kind = ReleasePlan::Kind::kLost;
  plan.reason = std::move(*lost);
  plan.held_again = entry && (entry.held() != nullptr || entry->attempts > 0 ||
                              entry->release != Holds::ReleaseState::kNone);
  return plan;
}

ReleasePlan Releases::begin_giving_back(const LockName& name, OwnerNumber owner, Ending ending,
                                        Start start) {
  const EntryLock entry(keeper_, name, owner);
  if (!entry) return {};
  ReleasePlan plan = begin_with(keeper_, *entry, ending, start);
  if (plan.kind == ReleasePlan::Kind::kFinal) {
    keeper_.count_released(keeper_.holds.take_leaving(*entry).get(), entry->caller);
  }
  return plan;
}

std::optional<ReleasePlan> Releases::begin_of_held(const LockName& name, OwnerNumber owner,
                                                   Start start) {
  const EntryLock entry(keeper_, name, owner);
  if (entry.current() == nullptr) return std::nullopt;
  return begin_with(keeper_, *entry, {Ending::How::kAll}, start);
}

void Releases::done(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                    const std::string& lost) {
  const EntryLock entry(keeper_, name, owner);
  if (plan.kind != ReleasePlan::Kind::kFinal) {
    Hold* const hold = entry.current();
    if (hold == nullptr || hold != plan.hold.get()) return;
    if (!lost.empty()) return lose_in_release(keeper_, *hold, lost);
    return keeper_.events.count(*hold, Stats::Counter::kReleased, plan.ended);
  }
  Holds::Released settled;
  const bool newest = entry && entry->is_open(plan.command);
  if (newest) {
    settled = keeper_.holds.settle(*entry);
  } else if (entry && entry->leaves() && entry->hold == plan.hold) {
    // An attempt of the owner's has taken it over: what it may be granted stays pending.
    settled = {keeper_.holds.take_leaving(*entry), entry->caller};
  }
  if (!lost.empty() && plan.deferred()) {
    lose_after_release(keeper_, entry.get(), newest, plan.hold, lost);
  } else if (settled.hold) {
    keeper_.records.end(settled.hold->record);
    if (lost.empty()) {
      keeper_.count_released(settled.hold.get(), settled.caller);
    } else if (!keeper_.closed) {
      keeper_.holds.put_back(*entry, settled.hold);
      lose_in_release(keeper_, *settled.hold, lost);
    }
  }
  keeper_.notify_if_idle();
}

bool Releases::take_back(const LockName& name, OwnerNumber owner, Command command,
                         TimePoint until) {
  const MutexLock guard(keeper_.mutex);
  if (keeper_.closed) return false;
  keeper_.holds.open(keeper_.holds.at(name, owner), std::move(command), until);
  return true;
}

void Releases::ended(const LockName& name, OwnerNumber owner, const client::Request* command,
                     End how, const std::string& why) {
  const EntryLock entry(keeper_, name, owner);
  if (!entry || !entry->is_open(command)) return;
  const bool left = entry->caller == Caller::kLeft;
  if (how == End::kRefused) {
    keeper_.holds.keep(*entry, Holds::ReleaseState::kRefused);
    if (left) keeper_.events.post_unreleased(subject_of(*entry), why);
  } else if (how == End::kDone && entry->leaves()) {
    keeper_.count_released(entry->hold.get(), entry->caller);
    keeper_.records.end(entry->hold->record);
    // Where its caller waited in vain, the owner's next release reports it.
    left ? (void)keeper_.holds.settle(*entry)
         : keeper_.holds.keep(*entry, Holds::ReleaseState::kReleased);
  } else if (const HoldPtr hold = keeper_.holds.settle(*entry).hold) {
    if (left) {
      lose_after_release(keeper_, entry.get(), true, hold, kReleaseExpired);
    } else {  // the owner's next release reports it
      keeper_.records.end(hold->record);
      keeper_.events.count(*hold, Stats::Counter::kLost);
      hold->ensure_extras().reason = kReleaseExpired;
      keep_loss(keeper_, *entry, hold);
    }
  }
  keeper_.notify_if_idle();
}

std::optional<Releases::Lost> Releases::begin_together(const LockName& name, const Owners& owners) {
  const MutexLock guard(keeper_.mutex);
  const TimePoint now = keeper_.clock.now();
  for (const OwnerNumber owner : owners) {
    Hold* const hold = keeper_.holds.hold(name, owner);
    if (hold == nullptr) continue;
    keeper_.lose_if_over(*hold, now);
    const bool unreported = !hold->held() && !std::exchange(hold->reported, true);
    if (unreported) return Lost{owner, hold->reason()};
  }
  for (const OwnerNumber owner : owners) {
    Hold* const hold = keeper_.holds.held(name, owner);
    if (hold == nullptr) continue;
    hold->joint = true;
    hold->trace(Hold::Step::kReleased);
    keeper_.arm(*hold, now);
  }
  return std::nullopt;
}

void Releases::end_together(const LockName& name, const Owners& owners, bool released) {
  const MutexLock guard(keeper_.mutex);
  for (const OwnerNumber owner : owners) {
    const UsedEntry entry(keeper_.holds, keeper_.holds.find(name, owner));
    Hold* const hold = entry.current();
    if (hold == nullptr || !std::exchange(hold->joint, false) || !hold->held()) continue;
    if (released) {
      end_released(keeper_, *entry, *hold);
    } else {  // the renewal, or the look, that was put off meanwhile is due now
      const TimePoint now = keeper_.clock.now();
      (hold->renewed() ? hold->next_renewal : hold->next_look) = now;
      keeper_.arm(*hold, now);
    }
  }
}

std::string Releases::begin_detach(const LockName& name, OwnerNumber owner, Millis lease) {
  const EntryLock entry(keeper_, name, owner);
  Hold* const hold = entry.held();
  if (hold == nullptr || keeper_.closed) return {};
  const TimePoint now = keeper_.clock.now();
  keeper_.lose_if_over(*hold, now);
  if (!hold->held()) return {};
  ReleasePlan plan;
  describe(plan, *hold);
  std::unique_ptr<Hold::Move>& move = hold->ensure_extras().move;
  if (!move) {
    const std::string other = owner_field(fresh_uuid(), ticket_number(next_owner_number()));
    move = std::make_unique<Hold::Move>(Hold::Move{other});
  }
  move->lease = lease;
  move->minimum = plan.closed_for(now);
  keeper_.begin_lease(*hold, lease, now);
  return move->other;
}

bool Releases::end_detach(const LockName& name, OwnerNumber owner) {
  const EntryLock entry(keeper_, name, owner);
  Hold* const hold = entry.held();
  if (hold == nullptr) return false;
  hold->trace(Hold::Step::kReleased);
  end_released(keeper_, *entry, *hold);
  return true;
}

std::optional<Releases::Detached> Releases::detached(const LockName& name,
                                                     OwnerNumber owner) const {
  const EntryLock entry(keeper_, name, owner);
  const Hold* const hold = entry.held();
  if (hold == nullptr || hold->move() == nullptr) return std::nullopt;
  const Hold::Move& move = *hold->move();
  std::optional<std::int64_t> token;
  if (hold->token != 0) token = hold->token;
  return Detached{move.other, token, move.lease, move.minimum};
}

void Releases::leave_to_lease(const LockName& name, OwnerNumber owner, Millis lease) {
  const EntryLock entry(keeper_, name, owner);
  Hold* const hold = entry.held();
  if (hold == nullptr) return;
  const TimePoint now = keeper_.clock.now();
  keeper_.events.count_end(*hold, now);
  keeper_.events.count(*hold, Stats::Counter::kReleased, hold->levels.count());
  hold->trace(Hold::Step::kReleased);
  hold->set_until = std::max(hold->set_until, after(now, lease));
  keeper_.records.renew(*hold);
  keeper_.end_note(*hold, hold->set_until);
  if (!keeper_.closed) keeper_.late_renewals.note(*hold, now);
  keeper_.holds.end(*entry);
}

bool Releases::defer(const LockName& name, OwnerNumber owner, ReleasePlan& plan) {
  const EntryLock entry(keeper_, name, owner);
  if (!entry || !entry->is_open(plan.command)) return false;
  entry->caller = Caller::kLeft;
  if (entry->leaves()) plan.hold = entry->hold;
  return plan.deferred();
}

void Releases::report_trouble(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                              const std::string& reason) {
  const EntryLock entry(keeper_, name, owner);
  const bool open = entry && entry->is_open(plan.command);
  if (open) keeper_.events.post_unreleased(subject_of(*entry), reason);
}

}  // namespace holdfast::lease
