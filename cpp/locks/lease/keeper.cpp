#include "locks/lease/keeper.h"

#include <algorithm>
#include <utility>

#include "locks/lease/watchdog.h"

namespace holdfast::lease {

Keeper::Keeper(const Clock& a_clock, net::Loop& loop, std::string client,
               std::shared_ptr<EventSink> sink, std::shared_ptr<Stats> stats)
    : releases(*this),
      notes(*this),
      clock(a_clock),
      client_id(std::move(client)),
      grid(client_id),
      notices(a_clock, sink),
      events(std::move(sink), std::move(stats)),
      wheel(a_clock.now()),
      loop_(loop),
      watchdog_(std::make_unique<Watchdog>(*this)) {}

Keeper::~Keeper() = default;

void Keeper::set_records(std::shared_ptr<HeldRecords> kept) {
  const MutexLock guard(mutex);
  recorded = kept != nullptr;
  records.kept = std::move(kept);
}

// ---- What is held

int Keeper::count(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(mutex);
  const Hold* const hold = holds.hold(name, owner);
  return hold != nullptr && hold->trusted_at(clock.now()) ? hold->levels.count() : 0;
}

bool Keeper::knows(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(mutex);
  const Holds::Entry* const entry = holds.find(name, owner);
  return entry != nullptr && (entry->hold || entry->release != Holds::ReleaseState::kNone);
}

Known Keeper::known(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(mutex);
  const TimePoint now = clock.now();
  const Holds::Entry* const entry = holds.find(name, owner);
  const Hold* const hold = entry != nullptr ? entry->current() : nullptr;
  Known known;
  if (hold == nullptr) {
    known.lost = blocks.lost(name, owner);
    return known;
  }
  const bool over = hold->held() && now >= hold->trusted();
  known.lost = over || hold->state == HoldState::kLost;
  if (known.lost) known.loss = hold->held() ? ran_out(*hold) : hold->reason();
  if (!hold->trusted_at(now)) return known;
  known.left = hold->trusted() - now;
  if (hold->token != 0) known.token = hold->token;
  for (int level = 0; level < hold->levels.count(); ++level) {
    const bool renewed = hold->levels.renewed_at(level);
    known.levels.push_back({renewed ? hold->lease : hold->fixed_lease, renewed});
  }
  return known;
}

bool Keeper::acquiring(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(mutex);
  const Holds::Entry* const entry = holds.find(name, owner);
  return entry != nullptr && entry->attempts > 0;
}

std::size_t Keeper::tracked() const {
  const MutexLock guard(mutex);
  return holds.tracked.size();
}

// A renewal of an ended hold, or of one that is not renewed any more.
bool Keeper::renewal_on_wire(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(mutex);
  const TimePoint now = clock.now();
  if (late_renewals.on_wire(name, owner, now)) return true;
  const Hold* const hold = holds.held(name, owner);
  return hold != nullptr && !hold->renewed() && hold->renewal_may_come(now);
}

// ---- What becomes of a hold

std::uint32_t Keeper::begin_extension(const LockName& name, OwnerNumber owner, Millis lease) {
  const EntryLock entry(*this, name, owner);
  Hold* const hold = entry.held();
  if (hold == nullptr || hold->move() != nullptr || closed) return 0;
  begin_lease(*hold, lease, clock.now());
  hold->trace(Hold::Step::kExtended);
  return hold->extensions;
}

void Keeper::begin_lease(Hold& hold, Millis lease, TimePoint now) {
  hold.levels.all_leased();
  hold.fixed_lease = lease;
  hold.set_until = std::min(hold.set_until, trusted_until(now, lease));
  ++hold.extensions;
  arm(hold, now);
}

void Keeper::extended(const LockName& name, OwnerNumber owner, const Extension& extension,
                      TimePoint sent) {
  const EntryLock entry(*this, name, owner);
  Hold* const hold = entry.held();
  if (hold == nullptr) return;
  const TimePoint until = trusted_until(sent, extension.lease);
  const bool newest = extension.number == hold->extensions;
  hold->set_until = newest ? until : std::min(hold->set_until, until);
  if (newest && hold->extras != nullptr) hold->extras->cut_until = kNever;
  arm(*hold, sent);
  records.renew(*hold);
  note_book.write_again(*hold);
  step_by(note_book.next());
  hold->trace(Hold::Step::kExtended);
}

void Keeper::lose(const LockName& name, OwnerNumber owner, const std::string& reason) {
  const EntryLock entry(*this, name, owner);
  Hold* const hold = entry.current();
  if (hold != nullptr && hold->state != HoldState::kLost) lose(*hold, reason);
}

void Keeper::lose(Hold& hold, const std::string& reason) {
  const TimePoint now = clock.now();
  events.count_end(hold, now);
  events.count(hold, Stats::Counter::kLost);
  holds.lose(hold);
  if (!closed) late_renewals.note(hold, now);
  hold.stop_renewing();
  records.end(hold.record);
  end_note(hold);
  hold.ensure_extras().reason = reason;
  blocks.lose(hold.name, hold.owner, {reason, !hold.excused, std::exchange(hold.blocks, 0)});
  hold.trace(Hold::Step::kLost);
  events.post(hold, Event::Kind::kLost);
}

std::string Keeper::ran_out(const Hold& hold) const {
  if (closed) return kClientClosed;
  if (!hold.renewed()) return kRanOut;
  return renewal_failure.empty() ? kNotRenewed : kNotRenewed + (": " + renewal_failure);
}

void Keeper::explain(std::string_view name, OwnerNumber owner, const std::string& reason) {
  const MutexLock guard(mutex);
  for (const Holds::Entry* const entry : holds.named(name)) {
    const bool lost = entry->hold && entry->hold->state == HoldState::kLost;
    if (!lost || entry->owner != owner) continue;
    entry->hold->ensure_extras().reason = reason;
    blocks.explain(entry->name, owner, reason);
  }
}

void Keeper::forget_loss(const LockName& name, OwnerNumber owner) {
  const EntryLock entry(*this, name, owner);
  Hold* const hold = entry.current();
  if (hold != nullptr && !hold->held()) holds.end(*entry);
}

void Keeper::forget_listener(const LockName& name, OwnerNumber owner, std::uint64_t listener) {
  const EntryLock entry(*this, name, owner);
  if (Hold* const hold = entry.current()) hold->forget(listener);
}

void Keeper::drop_release(Holds::Entry& entry) {
  if (entry.leaves()) {
    if (entry.release != Holds::ReleaseState::kReleased) count_released(&*entry.hold, entry.caller);
    records.end(entry.hold->record);
  }
  holds.drop(entry);
}

void Keeper::count_released(const Hold* hold, Holds::Caller caller) const {
  if (hold == nullptr || hold->state == HoldState::kLost) return;
  events.count(*hold, Stats::Counter::kReleased, hold->levels.count());
  const bool posted = caller != Holds::Caller::kAwaits && hold->extras != nullptr;
  if (posted && !hold->extras->listeners.empty()) events.post(*hold, Event::Kind::kReleased);
}

// ---- The watchdog's time

void Keeper::arm(Hold& hold, TimePoint now) {
  TimePoint at = hold.trusted();
  if (!closed) {
    // While a renewal is in flight the next one is expected a third of the lease later, which is
    // the moment if all goes well: then the timer stays as it is.
    const bool due = hold.in_flight && hold.next_renewal <= now;
    if (hold.renewed() && !due && !hold.joint) at = std::min(at, hold.next_renewal);
    if (!hold.in_flight) at = std::min(at, hold.next_look);
    at = std::min(at, NoteBook::due(hold));
  }
  at = std::max(at, now);
  if (hold.armed() && hold.at() == at) return;
  wheel.arm(hold, at);
  step_by(at);
}

void Keeper::step_by(TimePoint at) {
  if (at >= next_step) return;
  next_step = at;
  loop_.drive(watchdog_->shared());
}

// ---- The end of the client

void Keeper::begin_close(std::function<void()> idle) {
  const MutexLock guard(mutex);
  closing = true;
  on_idle = std::move(idle);
}

bool Keeper::is_closing() const {
  const MutexLock guard(mutex);
  return closing;
}

bool Keeper::is_idle() const {
  const MutexLock guard(mutex);
  return acquisitions == 0 && holds.pending() == 0;
}

bool Keeper::is_closed() const {
  const MutexLock guard(mutex);
  return closed;
}

std::vector<std::string> Keeper::close(std::shared_ptr<void> kept) {
  const MutexLock guard(mutex);
  std::vector<std::string> held;
  closing = closed = true;
  on_idle = {};
  const TimePoint now = clock.now();
  for (Holds::Entry* const each : holds.all()) {
    const UsedEntry entry(holds, each);
    // The client's key is no lock of a caller's: it ends unnamed.
    const bool internal = entry->hold && entry->hold->internal;
    if (holds.close(*entry) && !internal) held.push_back(entry->name.text());
    if (internal && entry->hold) holds.end(*entry);
    Hold* const hold = entry.held();
    if (hold == nullptr) continue;
    hold->sending.stop();
    arm(*hold, now);
    held.push_back(hold->name.text());
  }
  if (wheel.size() > 0) {
    reports.swap(kept);
  } else if (kept) {
    events.post_closed();
  }
  holds.tracked.clear();
  records.kept.reset();
  step_by({});
  return held;
}

}  // namespace holdfast::lease
