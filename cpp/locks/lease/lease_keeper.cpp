#include "locks/lease/lease_keeper.h"

#include <algorithm>
#include <utility>

#include "locks/lease/hold.h"

namespace holdfast::lease {

LeaseKeeper::LeaseKeeper(const Clock& clock, net::Loop& loop, std::string client_id,
                         std::shared_ptr<EventSink> events, std::shared_ptr<Stats> stats)
    : book_(std::make_shared<HoldBook>(clock, loop, std::move(client_id),
                                       HoldEvents(std::move(events), std::move(stats)))),
      watchdog_(std::make_shared<Watchdog>(book_)),
      attempts_(*book_),
      releases_(*book_),
      notes_(*book_, attempts_) {
  book_->set_watchdog(watchdog_);
}

int LeaseKeeper::count(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(book_->mutex);
  const Hold* hold = book_->holds.hold(name, owner);
  return hold != nullptr && hold->trusted_at(book_->clock.now()) ? hold->levels.count() : 0;
}

bool LeaseKeeper::knows(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(book_->mutex);
  const Holds::Entry* const entry = book_->holds.find(name, owner);
  return entry != nullptr && (entry->hold || entry->release != Holds::Release::kNone);
}

std::optional<Duration> LeaseKeeper::left(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(book_->mutex);
  const TimePoint now = book_->clock.now();
  const Hold* const hold = book_->holds.hold(name, owner);
  if (hold == nullptr || !hold->trusted_at(now)) return std::nullopt;
  return hold->trusted() - now;
}

Known LeaseKeeper::known(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(book_->mutex);
  const TimePoint now = book_->clock.now();
  const Hold* const hold = book_->holds.hold(name, owner);
  Known known;
  known.lost = hold != nullptr ? hold->lost_at(now) : book_->blocks.lost(name, owner);
  if (hold == nullptr) return known;
  if (known.lost)
    known.loss = hold->state == HoldState::kLost ? hold->reason() : book_->ran_out(*hold);
  if (!hold->trusted_at(now)) return known;
  known.left = hold->trusted() - now;
  if (hold->token != 0) known.token = hold->token;
  for (int level = 0; level < hold->levels.count(); ++level) {
    const bool renewed = hold->levels.renewed_at(level);
    known.levels.push_back({renewed ? hold->lease : hold->fixed_lease, renewed});
  }
  return known;
}

bool LeaseKeeper::renewal_on_wire(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(book_->mutex);
  return book_->renewal_on_wire(name, owner);
}

std::vector<Holder> LeaseKeeper::holders(const LockName& name) const {
  const MutexLock guard(book_->mutex);
  const TimePoint now = book_->clock.now();
  std::vector<Holder> holders;
  for (const Holds::Entry* const entry : book_->holds.named(name.bytes())) {
    const bool holds = entry->name == name && entry->hold && entry->hold->trusted_at(now);
    if (holds) holders.push_back({entry->owner, {}});
  }
  book_->events.append_ended(holders, name, now);
  return holders;
}

std::vector<LeaseKeeper::Held> LeaseKeeper::held() const {
  const MutexLock guard(book_->mutex);
  std::vector<Held> all;
  for (const Holds::Entry* const entry : book_->holds.all()) {
    const Hold* const hold = entry->hold.get();
    const bool held = hold != nullptr && hold->held();
    if (held) all.push_back({hold->name, hold->owner, hold->renewal, hold->internal});
  }
  return all;
}

std::uint32_t LeaseKeeper::begin_extension(const LockName& name, OwnerNumber owner, Millis lease) {
  const MutexLock guard(book_->mutex);
  Hold* hold = book_->holds.hold(name, owner);
  if (hold == nullptr || !hold->held() || hold->move() != nullptr || book_->closed) return 0;
  book_->begin_lease(*hold, lease, book_->clock.now());
  hold->trace(Hold::Step::kExtended);
  return hold->extensions;
}

void LeaseKeeper::extended(const LockName& name, OwnerNumber owner, const Extension& extension,
                           TimePoint sent) {
  const MutexLock guard(book_->mutex);
  Hold* hold = book_->holds.hold(name, owner);
  if (hold == nullptr || !hold->held()) return;
  const TimePoint until = trusted_until(sent, extension.lease);
  const bool newest = extension.number == hold->extensions;
  hold->set_until = newest ? until : std::min(hold->set_until, until);
  if (newest && hold->few() != nullptr) hold->few()->cut_until = kNever;
  book_->arm(*hold, sent);
  book_->renew_record(*hold);
  book_->write_note_again(*hold);
  hold->trace(Hold::Step::kExtended);
}

void LeaseKeeper::lose(const LockName& name, OwnerNumber owner, const std::string& reason) {
  const MutexLock guard(book_->mutex);
  Hold* hold = book_->holds.hold(name, owner);
  if (hold != nullptr && hold->state != HoldState::kLost) book_->lose(*hold, reason);
}

void LeaseKeeper::explain(std::string_view name, OwnerNumber owner, const std::string& reason) {
  const MutexLock guard(book_->mutex);
  for (const Holds::Entry* const entry : book_->holds.named(name)) {
    const bool lost = entry->hold && entry->hold->state == HoldState::kLost;
    if (!lost || entry->owner != owner) continue;
    entry->hold->extras().reason = reason;
    book_->blocks.explain(entry->name, owner, reason);
  }
}

void LeaseKeeper::forget_loss(const LockName& name, OwnerNumber owner) {
  const MutexLock guard(book_->mutex);
  const UsedEntry entry(book_->holds, book_->holds.find(name, owner));
  const bool lost = entry && entry->hold && entry->hold->state == HoldState::kLost;
  if (lost) book_->holds.end(*entry);
}

void LeaseKeeper::forget_listener(const LockName& name, OwnerNumber owner, std::uint64_t listener) {
  const MutexLock guard(book_->mutex);
  Hold* hold = book_->holds.hold(name, owner);
  if (hold != nullptr) hold->forget(listener);
}

void LeaseKeeper::excuse(const LockName& name, OwnerNumber owner, bool excused) {
  const MutexLock guard(book_->mutex);
  for (const Holds::Entry* const entry : book_->holds.named(name.bytes())) {
    const bool held = entry->hold && entry->hold->held();
    if (held && entry->owner == owner) entry->hold->excused = excused;
  }
}

void LeaseKeeper::forced(const LockName& name, TimePoint sent) {
  const MutexLock guard(book_->mutex);
  for (const Holds::Entry* const entry : book_->holds.named(name.bytes())) {
    Hold* const hold = entry->hold.get();
    // A release under way learns by its own answer what it has met.
    if (hold == nullptr || !hold->held()) continue;
    if (hold->requested > sent) continue;
    book_->lose(*hold, "it was released by force");
  }
}

void LeaseKeeper::report_overlong(const Subject& subject, Millis remaining) {
  const MutexLock guard(book_->mutex);
  book_->events.post_overlong(subject, remaining, book_->clock.now());
}

void LeaseKeeper::report_foreign(const Subject& subject) {
  const MutexLock guard(book_->mutex);
  book_->events.post_foreign(subject, book_->clock.now());
}

void LeaseKeeper::report_permits(const LockName& name, std::int64_t there, std::int64_t wanted) {
  const MutexLock guard(book_->mutex);
  book_->events.post_permits(name, there, wanted, book_->clock.now());
}

void LeaseKeeper::owner_ended(OwnerNumber owner, const std::string& what) {
  const MutexLock guard(book_->mutex);
  book_->blocks.owner_ended(owner);
  for (Holds::Entry* const each : book_->holds.of(owner)) {
    const UsedEntry entry(book_->holds, each);
    book_->holds.end_owner(*entry);
    Hold* const hold = entry->current();
    if (hold == nullptr) continue;
    if (hold->held()) {
      hold->extras().reason = what;
      book_->events.abandoned(*hold, what);
      book_->events.count_end(*hold, book_->clock.now());
      book_->events.count(*hold, Stats::Counter::kLost);
      hold->trace(Hold::Step::kLost);
    }
    hold->record = 0;  // it is there until its lease is over
    book_->end_note(*hold, hold->set_until);
    book_->holds.end(*entry);
  }
  if (book_->reports) book_->drive();
}

void LeaseKeeper::begin_close(std::function<void()> on_idle) {
  const MutexLock guard(book_->mutex);
  book_->closing = true;
  book_->on_idle = std::move(on_idle);
}

bool LeaseKeeper::closing() const {
  const MutexLock guard(book_->mutex);
  return book_->closing;
}

bool LeaseKeeper::idle() const {
  const MutexLock guard(book_->mutex);
  return book_->idle();
}

std::vector<std::string> LeaseKeeper::close(std::shared_ptr<void> reports) {
  const MutexLock guard(book_->mutex);
  std::vector<std::string> held;
  book_->closing = book_->closed = true;
  book_->on_idle = {};
  const TimePoint now = book_->clock.now();
  for (Holds::Entry* const each : book_->holds.all()) {
    const UsedEntry entry(book_->holds, each);
    if (book_->end_internal(*entry)) continue;
    if (book_->holds.close(*entry)) held.push_back(entry->name.text());
    Hold* const hold = entry->current();
    if (hold == nullptr || !hold->held()) continue;
    hold->sending.stop();
    book_->arm(*hold, now);
    held.push_back(hold->name.text());
  }
  if (book_->wheel.size() > 0) {
    book_->reports.swap(reports);
  } else if (reports) {
    book_->events.post_closed();
  }
  book_->holds.tracked.clear();
  book_->records.reset();
  book_->drive();
  return held;
}

bool LeaseKeeper::closed() const {
  const MutexLock guard(book_->mutex);
  return book_->closed;
}

}  // namespace holdfast::lease
