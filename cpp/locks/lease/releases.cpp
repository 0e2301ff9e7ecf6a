#include "locks/lease/releases.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "locks/lease/hold.h"

namespace holdfast::lease {

namespace {

// By when the lease is over for certain, whatever renewals are under way.
TimePoint surely_over(const Hold& hold, TimePoint now) {
  const Millis sent = hold.in_flight ? hold.sent_lease : Millis(0);
  return surely_over(now, std::max(hold.set_until, after(now, std::max(hold.lease, sent))));
}

// What the command has to say of the hold.
void describe(ReleasePlan& plan, const Hold& hold) {
  plan.trusted = hold.trusted();
  plan.closed_until = hold.closed_until();
  if (hold.move() != nullptr) plan.other = hold.move()->other;
}

// The plan for a lost hold: `lost` stays to be seen until the next grant; the error comes once.
ReleasePlan report_loss(Hold& hold) {
  ReleasePlan plan;
  describe(plan, hold);
  plan.reason = hold.reason();
  if (!std::exchange(hold.reported, true)) plan.verdict = ReleasePlan::Verdict::kLost;
  return plan;
}

ReleasePlan under_way() {
  ReleasePlan plan;
  plan.verdict = ReleasePlan::Verdict::kUnderWay;
  return plan;
}

Subject subject_of(const Holds::Entry& entry) {
  return {entry.name, entry.owner, entry.hold ? entry.hold->renewal->word() : std::string_view()};
}

}  // namespace

Millis ReleasePlan::closed_for(TimePoint now) const {
  if (closed_until <= now) return Millis(0);
  return std::chrono::ceil<Millis>(closed_until - now);
}

ReleasePlan Releases::begin(const LockName& name, OwnerNumber owner, Ending ending, Start start) {
  const MutexLock guard(book_.mutex);
  const UsedEntry entry(book_.holds, book_.holds.find(name, owner));
  if (!entry) return {};
  if (entry->attempts > 0) return under_way();
  return begin_with(*entry, ending, start);
}

ReleasePlan Releases::end_block(const LockName& name, OwnerNumber owner, Ending ending,
                                Start start) {
  const MutexLock guard(book_.mutex);
  const UsedEntry entry(book_.holds, book_.holds.find(name, owner));
  Hold* const hold = entry ? entry->current() : nullptr;
  if (!start.at) start.at = book_.clock.now();
  if (hold != nullptr) book_.lose_if_over(*hold, *start.at);
  std::optional<std::string> lost;
  if (hold != nullptr && hold->blocks > 0) {
    --hold->blocks;
  } else if (!book_.blocks.empty()) {
    lost = book_.blocks.end(name, owner);
  }
  if (lost) return lost_block(entry.get(), std::move(*lost));
  if (!entry) return {};
  if (entry->attempts > 0) return under_way();
  return begin_with(*entry, ending, start);
}

// `entry`: its owner's; null: none.
ReleasePlan Releases::lost_block(Holds::Entry* entry, std::string reason) {
  ReleasePlan plan;
  plan.verdict = ReleasePlan::Verdict::kLost;
  plan.reason = std::move(reason);
  if (entry == nullptr) return plan;
  Hold* const hold = entry->current();
  if (hold != nullptr && !hold->held()) hold->reported = true;
  plan.held_again = entry->in_use();
  return plan;
}

ReleasePlan Releases::begin_giving_back(const LockName& name, OwnerNumber owner, Ending ending,
                                        Start start) {
  const MutexLock guard(book_.mutex);
  const UsedEntry entry(book_.holds, book_.holds.find(name, owner));
  if (!entry) return {};
  ReleasePlan plan = begin_with(*entry, ending, start);
  if (plan.verdict == ReleasePlan::Verdict::kFinal) {
    book_.count_released(book_.holds.take_leaving(*entry).get(), entry->caller);
  }
  return plan;
}

std::optional<ReleasePlan> Releases::begin_of_held(const LockName& name, OwnerNumber owner,
                                                   Start start) {
  const MutexLock guard(book_.mutex);
  Holds::Entry* const entry = book_.holds.find(name, owner);
  if (entry == nullptr || entry->current() == nullptr) return std::nullopt;
  return begin_with(*entry, {Ending::How::kAll}, start);
}

ReleasePlan Releases::begin_with(Holds::Entry& entry, Ending ending, Start& start) {
  Hold* const hold = entry.current();
  if (hold == nullptr) return plan_pending(entry, start);
  const TimePoint now = start.at ? *start.at : book_.clock.now();
  book_.lose_if_over(*hold, now);
  if (!hold->held()) return report_loss(*hold);
  if (book_.closed) return {};  // it stays, until it is lost
  ReleasePlan plan;
  describe(plan, *hold);
  plan.ended = hold->levels.count_of(ending);
  if (plan.ended == 0) return plan;
  plan.remaining = hold->levels.count() - plan.ended;
  // It says itself how many holds are left. It counts at once: what its owner does before the
  // answer has come, in a signal handler, builds on it.
  if (plan.remaining > 0) {
    plan.verdict = ReleasePlan::Verdict::kPartial;
    plan.hold = entry.hold;
    hold->levels.end(ending);
    book_.drop_release(entry);
    book_.notify_if_idle();
    return plan;
  }
  plan.verdict = ReleasePlan::Verdict::kFinal;
  book_.end_note(*hold);
  book_.events.count_end(*hold, now);
  hold->trace(Hold::Step::kReleased);
  book_.note_late_renewal(*hold, now);
  book_.blocks.release(entry.name, entry.owner, std::exchange(hold->blocks, 0));
  book_.holds.leave(entry);
  entry.caller = start.caller;
  open(entry, plan, start, surely_over(*hold, now));
  return plan;
}

void Releases::open(Holds::Entry& entry, ReleasePlan& plan, Start& start, TimePoint until) {
  plan.command = start.command.get();
  book_.holds.open(entry, std::move(start.command), until);
  plan.until = entry.until;
}

// The owner holds nothing, but may have begun to release, and releases again.
ReleasePlan Releases::plan_pending(Holds::Entry& entry, Start& start) {
  using Verdict = ReleasePlan::Verdict;
  ReleasePlan plan;
  const bool known = entry.leaves() && entry.release != Holds::Release::kTakenOver;
  if (!known || entry.caller == Caller::kLeft) return plan;
  if (entry.release == Holds::Release::kReleased) {
    plan.verdict = Verdict::kDone;
    book_.holds.drop(entry);
    return plan;
  }
  describe(plan, *entry.hold);
  plan.verdict = Verdict::kFinal;
  plan.repeated = true;
  open(entry, plan, start, entry.until);
  return plan;
}

void Releases::done(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                    const std::string& lost) {
  const MutexLock guard(book_.mutex);
  const UsedEntry entry(book_.holds, book_.holds.find(name, owner));
  if (plan.verdict != ReleasePlan::Verdict::kFinal) return done_in_part(entry.get(), plan, lost);
  Released settled;
  const bool newest = entry && entry->is_open(plan.command);
  if (newest) {
    settled = book_.holds.settle(*entry);
  } else if (entry && entry->leaves_with(plan.hold)) {
    // An attempt of the owner's has taken it over: what it may be granted stays pending.
    settled = {book_.holds.take_leaving(*entry), entry->caller};
  }
  if (lost.empty()) {
    book_.count_released(settled.hold.get(), settled.caller);
    if (settled.hold) book_.end_record(settled.hold->record);
  } else if (plan.deferred()) {
    lose_after_release(entry.get(), newest, plan.hold, lost);
  } else if (settled.hold) {
    lose(*entry, std::move(settled.hold), lost);
  }
  book_.notify_if_idle();
}

void Releases::done_in_part(const Holds::Entry* entry, const ReleasePlan& plan,
                            const std::string& lost) {
  Hold* const hold = entry == nullptr ? nullptr : entry->current();
  if (hold == nullptr || hold != plan.hold.get()) return;
  if (!lost.empty()) return lose_in_release(*hold, lost);
  book_.events.count(*hold, Stats::Counter::kReleased, plan.ended);
}

// It turned out during its release that the hold is lost; that release reports it.
void Releases::lose(Holds::Entry& entry, HoldPtr hold, const std::string& reason) {
  book_.end_record(hold->record);
  if (book_.closed) return;
  book_.holds.put_back(entry, hold);
  lose_in_release(*hold, reason);
}

// The loss may have been found on another way meanwhile.
void Releases::lose_in_release(Hold& hold, const std::string& reason) {
  if (hold.state != HoldState::kLost) book_.lose(hold, reason);
  hold.reported = true;
}

bool Releases::take_back(const LockName& name, OwnerNumber owner, Command command,
                         TimePoint until) {
  const MutexLock guard(book_.mutex);
  if (book_.closed) return false;
  book_.holds.open(book_.holds.at(name, owner), std::move(command), until);
  return true;
}

void Releases::ended(const LockName& name, OwnerNumber owner, const client::Request* command,
                     End how, const std::string& why) {
  const MutexLock guard(book_.mutex);
  const UsedEntry entry(book_.holds, book_.holds.open_at(name, owner, command));
  if (!entry) return;
  if (entry->caller == Caller::kLeft) {
    end_deferred(*entry, how, why);
  } else if (how == End::kRefused) {
    book_.holds.keep(*entry, Holds::Release::kRefused);
  } else if (how == End::kDone && entry->leaves()) {
    book_.count_released(entry->hold.get(), entry->caller);
    book_.end_record(entry->hold->record);
    book_.holds.keep(*entry, Holds::Release::kReleased);
  } else if (HoldPtr hold = book_.holds.settle(*entry).hold) {
    expire(*entry, std::move(hold));
  }
  book_.notify_if_idle();
}

// Its owner's next release reports it.
void Releases::expire(Holds::Entry& entry, HoldPtr hold) {
  book_.end_record(hold->record);
  book_.events.count(*hold, Stats::Counter::kLost);
  hold->extras().reason = kReleaseExpired;
  book_.holds.put_back(entry, hold);
  book_.holds.lose(*hold);
}

std::optional<Releases::Lost> Releases::begin_together(const LockName& name, const Owners& owners) {
  const MutexLock guard(book_.mutex);
  for (const OwnerNumber owner : owners) {
    Hold* const hold = book_.holds.hold(name, owner);
    if (hold == nullptr) continue;
    (void)book_.lose_if_over(*hold);
    const bool unreported = !hold->held() && !std::exchange(hold->reported, true);
    if (unreported) return Lost{owner, hold->reason()};
  }
  const TimePoint now = book_.clock.now();
  for (const OwnerNumber owner : owners) {
    Hold* const hold = book_.holds.hold(name, owner);
    if (hold == nullptr || !hold->held()) continue;
    hold->joint = true;
    hold->trace(Hold::Step::kReleased);
    book_.arm(*hold, now);
  }
  return std::nullopt;
}

void Releases::end_together(const LockName& name, const Owners& owners, bool released) {
  const MutexLock guard(book_.mutex);
  for (const OwnerNumber owner : owners) {
    const UsedEntry entry(book_.holds, book_.holds.find(name, owner));
    Hold* const hold = entry ? entry->current() : nullptr;
    if (hold == nullptr || !std::exchange(hold->joint, false) || !hold->held()) continue;
    if (released) {
      book_.events.count(*hold, Stats::Counter::kReleased);
      const TimePoint now = book_.clock.now();
      book_.events.count_end(*hold, now);
      book_.end_record(hold->record);
      book_.end_note(*hold);
      book_.holds.end(*entry);
    } else {
      book_.resume(*hold);
    }
  }
}

ReleasePlan Releases::begin_detach(const LockName& name, OwnerNumber owner, Millis lease) {
  const MutexLock guard(book_.mutex);
  Hold* hold = book_.holds.hold(name, owner);
  if (hold == nullptr) return {};
  const TimePoint now = book_.lose_if_over(*hold);
  if (!hold->held()) return report_loss(*hold);
  if (book_.closed) return {};
  ReleasePlan plan;
  plan.verdict = ReleasePlan::Verdict::kFinal;
  describe(plan, *hold);
  std::unique_ptr<Hold::Move>& move = hold->extras().move;
  if (!move) {
    const std::string other = owner_field(fresh_uuid(), ticket_number(next_owner_number()));
    move = std::make_unique<Hold::Move>(Hold::Move{other});
  }
  move->lease = lease;
  move->minimum = plan.closed_for(now);
  book_.begin_lease(*hold, lease, now);
  plan.other = move->other;
  return plan;
}

bool Releases::end_detach(const LockName& name, OwnerNumber owner) {
  const MutexLock guard(book_.mutex);
  const UsedEntry entry(book_.holds, book_.holds.find(name, owner));
  Hold* const hold = entry ? entry->current() : nullptr;
  if (hold == nullptr || !hold->held()) return false;
  book_.events.count(*hold, Stats::Counter::kReleased);
  const TimePoint now = book_.clock.now();
  book_.events.count_end(*hold, now);
  hold->trace(Hold::Step::kReleased);
  book_.end_record(hold->record);
  book_.end_note(*hold);
  book_.holds.end(*entry);
  return true;
}

std::optional<Releases::Detached> Releases::detached(const LockName& name,
                                                     OwnerNumber owner) const {
  const MutexLock guard(book_.mutex);
  const Hold* hold = book_.holds.hold(name, owner);
  if (hold == nullptr || hold->move() == nullptr || !hold->held()) return std::nullopt;
  const Hold::Move& move = *hold->move();
  std::optional<std::int64_t> token;
  if (hold->token != 0) token = hold->token;
  return Detached{move.other, token, move.lease, move.minimum};
}

void Releases::leave_to_lease(const LockName& name, OwnerNumber owner, Millis lease) {
  const MutexLock guard(book_.mutex);
  const UsedEntry entry(book_.holds, book_.holds.find(name, owner));
  Hold* const hold = entry ? entry->current() : nullptr;
  if (hold == nullptr || !hold->held()) return;
  const TimePoint now = book_.clock.now();
  book_.events.count_end(*hold, now);
  book_.events.count(*hold, Stats::Counter::kReleased, hold->levels.count());
  hold->trace(Hold::Step::kReleased);
  hold->set_until = std::max(hold->set_until, after(now, lease));
  book_.renew_record(*hold);
  book_.end_note(*hold, hold->set_until);
  book_.note_late_renewal(*hold, now);
  book_.holds.end(*entry);
}

bool Releases::defer(const LockName& name, OwnerNumber owner, ReleasePlan& plan) {
  const MutexLock guard(book_.mutex);
  Holds::Entry* const entry = book_.holds.open_at(name, owner, plan.command);
  if (entry == nullptr) return false;
  entry->caller = Caller::kLeft;
  if (entry->leaves()) plan.hold = entry->hold;
  return plan.deferred();
}

void Releases::report_trouble(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                              const std::string& reason) {
  const MutexLock guard(book_.mutex);
  const Holds::Entry* const entry = book_.holds.open_at(name, owner, plan.command);
  if (entry != nullptr) book_.events.post_unreleased(subject_of(*entry), reason);
}

// `newest`: the owner has done nothing else since; the entry is there.
void Releases::lose_after_release(Holds::Entry* entry, bool newest, const HoldPtr& hold,
                                  const std::string& reason) {
  book_.end_record(hold->record);
  if (hold->state == HoldState::kLost) return;
  book_.events.count(*hold, Stats::Counter::kLost);
  hold->extras().reason = reason;
  hold->reported = true;
  book_.events.post(*hold, Event::Kind::kLostAfterRelease);
  const bool stays = newest && !book_.closed && !entry->hold;
  if (!stays) {
    hold->state = HoldState::kLost;
    return;
  }
  book_.holds.put_back(*entry, hold);
  book_.holds.lose(*hold);
}

void Releases::end_deferred(Holds::Entry& entry, End how, const std::string& why) {
  if (how == End::kRefused) {
    book_.holds.keep(entry, Holds::Release::kRefused);
    return book_.events.post_unreleased(subject_of(entry), why);
  }
  const Released settled = book_.holds.settle(entry);
  if (!settled.hold) return;
  if (how == End::kExpired) return lose_after_release(&entry, true, settled.hold, kReleaseExpired);
  book_.end_record(settled.hold->record);
  book_.count_released(settled.hold.get(), settled.caller);
}

}  // namespace holdfast::lease
