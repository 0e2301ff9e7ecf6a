#include "locks/lease/hold_book.h"

#include <algorithm>
#include <utility>

#include "locks/lease/hold.h"
#include "locks/lease/watchdog.h"

namespace holdfast::lease {

void HoldBook::drive() const { loop_.drive(watchdog_.lock()); }

namespace {

// When a command is to be sent for it next.
TimePoint next_command(const Hold& hold, TimePoint now) {
  // While a renewal is in flight the next one is expected a third of the lease later, which is the
  // moment if all goes well: then the timer stays as it is.
  const bool due = hold.in_flight && hold.next_renewal <= now;
  const bool renew = hold.renewed() && !due && !hold.joint;
  TimePoint at = kNever;
  if (renew) at = hold.next_renewal;
  if (!hold.in_flight) at = std::min(at, hold.next_look);
  return std::min(at, NoteBook::due(hold));
}

}  // namespace

void HoldBook::arm(Hold& hold, TimePoint now) {
  const TimePoint command = closed ? kNever : next_command(hold, now);
  const TimePoint at = std::max(std::min(command, hold.trusted()), now);
  if (hold.armed() && hold.at() == at) return;
  wheel.arm(hold, at);
  step_by(at);
}

void HoldBook::step_by(TimePoint at) {
  if (at >= next_step) return;
  next_step = at;
  drive();
}

void HoldBook::plan_first_renewal(Hold& hold, const Grant& grant) const {
  if (grant.about != nullptr) return hold.introduce(grant);
  const Millis lease = hold.part_of(hold.lease, grant.sent);
  hold.next_renewal = grid_.first(grant.sent, lease, holds.size());
}

void HoldBook::plan_renewal(Hold& hold, TimePoint sent, TimePoint now) const {
  const Millis lease = hold.part_of(hold.lease, now);
  hold.next_renewal = grid_.next(sent, lease, hold.group, holds.size());
}

void HoldBook::resume(Hold& hold) {
  const TimePoint now = clock.now();
  (hold.renewed() ? hold.next_renewal : hold.next_look) = now;
  arm(hold, now);
}

void HoldBook::set_records(std::shared_ptr<HeldRecords> kept) {
  const MutexLock guard(mutex);
  recorded = kept != nullptr;
  records = std::move(kept);
}

void HoldBook::record(Hold& hold, HeldRecords::Id granted) {
  // The release by a record would not keep it closed.
  const bool stays_closed = hold.closed_until() > TimePoint{};
  if (hold.record == 0 && !stays_closed) {
    hold.record = granted;
  } else {
    records->remove(granted);
  }
  if (stays_closed) return end_record(hold.record);
  keep_record(hold);
}

void HoldBook::renew_record(Hold& hold) {
  if (hold.record != 0 && records) keep_record(hold);
}

void HoldBook::keep_record(Hold& hold) {
  if (hold.record != 0 && records->set_until(hold.record, hold.set_until)) return;
  hold.record = records->add(hold.name, hold.owner, *hold.renewal, hold.set_until);
}

void HoldBook::remove_record(HeldRecords::Id& record) {
  if (records) records->remove(record);
  record = 0;
}

void HoldBook::remove_note(Hold& hold, std::optional<TimePoint> at) {
  if (!notes.take(hold) || closed) return;
  if (at) {
    notes.remove_at({hold.name, hold.owner}, *at);
  } else {
    notes.remove(hold.name, hold.owner);
  }
  step_by(notes.next());
}

void HoldBook::lose(Hold& hold, const std::string& reason) {
  const TimePoint now = clock.now();
  events.count_end(hold, now);
  events.count(hold, Stats::Counter::kLost);
  holds.lose(hold);
  note_late_renewal(hold, now);
  hold.stop_renewing();
  end_record(hold.record);
  end_note(hold);
  hold.extras().reason = reason;
  blocks.lose(hold.name, hold.owner, {reason, !hold.excused, std::exchange(hold.blocks, 0)});
  hold.trace(Hold::Step::kLost);
  events.post(hold, Event::Kind::kLost);
}

void HoldBook::keep_late_renewal(Hold& hold) {
  if (late_renewals.size() == late_renewals.capacity()) forget_late_renewals();
  late_renewals.emplace_back(&hold);
}

bool HoldBook::renewal_on_wire(const LockName& name, OwnerNumber owner) const {
  const TimePoint now = clock.now();
  const auto late = [&](const HoldPtr& hold) {
    return hold->owner == owner && hold->name == name && hold->renewal_may_come(now);
  };
  if (std::any_of(late_renewals.begin(), late_renewals.end(), late)) return true;
  const Hold* const hold = holds.hold(name, owner);
  return hold != nullptr && hold->held() && !hold->renewed() && hold->renewal_may_come(now);
}

void HoldBook::forget_late_renewals() {
  const auto over = [now = clock.now()](const HoldPtr& hold) {
    return !hold->renewal_may_come(now);
  };
  late_renewals.erase(std::remove_if(late_renewals.begin(), late_renewals.end(), over),
                      late_renewals.end());
}

void HoldBook::begin_lease(Hold& hold, Millis lease, TimePoint now) {
  hold.levels.all_leased();
  hold.fixed_lease = lease;
  hold.set_until = std::min(hold.set_until, trusted_until(now, lease));
  ++hold.extensions;
  arm(hold, now);
}

std::string HoldBook::ran_out(const Hold& hold) const {
  if (closed) return kClientClosed;
  if (!hold.renewed()) return kRanOut;
  return renewal_failure.empty() ? kNotRenewed : kNotRenewed + (": " + renewal_failure);
}

void HoldBook::drop_present_release(Holds::Entry& entry) {
  if (entry.leaves()) {
    if (entry.release != Holds::Release::kReleased) count_released(&*entry.hold, entry.caller);
    end_record(entry.hold->record);
  }
  holds.drop(entry);
}

bool HoldBook::end_internal(Holds::Entry& entry) {
  if (!entry.hold || !entry.hold->internal) return false;
  (void)holds.close(entry);
  if (entry.hold) holds.end(entry);
  return true;
}

void HoldBook::count_released(const Hold* hold, Holds::Caller caller) const {
  if (hold == nullptr || hold->state == HoldState::kLost) return;
  events.count(*hold, Stats::Counter::kReleased, hold->levels.count());
  const bool posted = caller != Holds::Caller::kAwaits && hold->few() != nullptr;
  if (posted && !hold->few()->listeners.empty()) events.post(*hold, Event::Kind::kReleased);
}

}  // namespace holdfast::lease
