#include "lease/transfers.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/uuid.h"
#include "lease/hold.h"

namespace holdfast::lease {

ReleasePlan Transfers::begin_detach(const LockName& name, OwnerNumber owner, Millis lease) {
  using Verdict = ReleasePlan::Verdict;
  const MutexLock guard(book_.mutex);
  Hold* hold = book_.holds.hold(name, owner);
  if (hold == nullptr) return {};
  const TimePoint now = book_.lose_if_over(*hold);
  if (book_.closed && hold->held()) return {};
  ReleasePlan plan = plan_release(*hold, true);
  if (!hold->held()) {
    if (plan.verdict != Verdict::kLost) plan.verdict = Verdict::kNotOwned;
    return plan;
  }
  std::unique_ptr<Hold::Move>& move = hold->extras().move;
  if (!move) {
    const std::string other = owner_field(fresh_uuid(), ticket_number(next_owner_number()));
    move = std::make_unique<Hold::Move>(Hold::Move{other, lease, lease, Millis(0)});
  }
  move->lease = lease;
  move->shortest = std::min(move->shortest, lease);
  move->minimum = plan.closed_for(now);
  hold->detaching = true;
  hold->set_until = std::min(hold->set_until, trusted_until(now, lease));
  book_.arm(*hold, now);
  plan.other = move->other;
  return plan;
}

void Transfers::end_detach(const LockName& name, OwnerNumber owner, bool done) {
  const MutexLock guard(book_.mutex);
  const UsedEntry entry(book_.holds, book_.holds.find(name, owner));
  Hold* const hold = entry ? entry->current() : nullptr;
  if (hold == nullptr || !std::exchange(hold->detaching, false) || !hold->held()) return;
  if (done) {
    book_.events.count(*hold, Stats::Counter::kReleased);
    book_.events.count_end(*hold, book_.clock.now());
    hold->trace(Hold::Step::kReleased);
    book_.end_record(hold->record);
    return book_.holds.end(*entry);
  }
  book_.resume(*hold);
}

std::optional<Transfers::Detached> Transfers::detached(const LockName& name,
                                                       OwnerNumber owner) const {
  const MutexLock guard(book_.mutex);
  const Hold* hold = book_.holds.hold(name, owner);
  if (hold == nullptr || !hold->detaching || !hold->held()) return std::nullopt;
  const Hold::Move& move = *hold->move();
  std::optional<std::int64_t> token;
  if (hold->token != 0) token = hold->token;
  return Detached{move.other, token, move.lease, move.minimum};
}

std::string Transfers::other_field(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(book_.mutex);
  const Hold* hold = book_.holds.hold(name, owner);
  return hold != nullptr && hold->move() != nullptr ? hold->move()->other : std::string();
}

std::uint32_t Transfers::begin_extension(const LockName& name, OwnerNumber owner, Millis lease) {
  const MutexLock guard(book_.mutex);
  Hold* hold = book_.holds.hold(name, owner);
  if (hold == nullptr || !hold->held() || book_.closed) return 0;
  const TimePoint now = book_.clock.now();
  hold->levels.all_leased();
  hold->fixed_lease = lease;
  hold->set_until = std::min(hold->set_until, trusted_until(now, lease));
  book_.arm(*hold, now);
  hold->trace(Hold::Step::kExtended);
  return ++hold->extensions;
}

void Transfers::extended(const LockName& name, OwnerNumber owner, const Extension& extension,
                         TimePoint sent) {
  const MutexLock guard(book_.mutex);
  Hold* hold = book_.holds.hold(name, owner);
  if (hold == nullptr || !hold->held()) return;
  const TimePoint until = trusted_until(sent, hold->sure(extension.lease));
  const bool newest = extension.number == hold->extensions;
  hold->set_until = newest ? until : std::min(hold->set_until, until);
  if (newest && hold->few() != nullptr) hold->few()->cut_until = kNever;
  book_.arm(*hold, sent);
  book_.renew_record(*hold);
  hold->trace(Hold::Step::kExtended);
}

}  // namespace holdfast::lease
