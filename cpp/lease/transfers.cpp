#include "lease/transfers.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/types.h"
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
    move = std::make_unique<Hold::Move>(Hold::Move{other});
  }
  move->lease = lease;
  move->minimum = plan.closed_for(now);
  leave_to_lease(*hold, lease, now);
  plan.other = move->other;
  return plan;
}

bool Transfers::end_detach(const LockName& name, OwnerNumber owner) {
  const MutexLock guard(book_.mutex);
  const UsedEntry entry(book_.holds, book_.holds.find(name, owner));
  Hold* const hold = entry ? entry->current() : nullptr;
  if (hold == nullptr || !hold->held()) return false;
  book_.events.count(*hold, Stats::Counter::kReleased);
  book_.events.count_end(*hold, book_.clock.now());
  hold->trace(Hold::Step::kReleased);
  book_.end_record(hold->record);
  book_.holds.end(*entry);
  return true;
}

std::optional<Transfers::Detached> Transfers::detached(const LockName& name,
                                                       OwnerNumber owner) const {
  const MutexLock guard(book_.mutex);
  const Hold* hold = book_.holds.hold(name, owner);
  if (hold == nullptr || hold->move() == nullptr || !hold->held()) return std::nullopt;
  const Hold::Move& move = *hold->move();
  std::optional<std::int64_t> token;
  if (hold->token != 0) token = hold->token;
  return Detached{move.other, token, move.lease, move.minimum};
}

// Until an answer is there, the shorter lease counts.
void Transfers::leave_to_lease(Hold& hold, Millis lease, TimePoint now) {
  hold.levels.all_leased();
  hold.fixed_lease = lease;
  hold.set_until = std::min(hold.set_until, trusted_until(now, lease));
  ++hold.extensions;
  book_.arm(hold, now);
}

std::uint32_t Transfers::begin_extension(const LockName& name, OwnerNumber owner, Millis lease) {
  const MutexLock guard(book_.mutex);
  Hold* hold = book_.holds.hold(name, owner);
  if (hold == nullptr || !hold->held() || hold->move() != nullptr || book_.closed) return 0;
  leave_to_lease(*hold, lease, book_.clock.now());
  hold->trace(Hold::Step::kExtended);
  return hold->extensions;
}

void Transfers::extended(const LockName& name, OwnerNumber owner, const Extension& extension,
                         TimePoint sent) {
  const MutexLock guard(book_.mutex);
  Hold* hold = book_.holds.hold(name, owner);
  if (hold == nullptr || !hold->held()) return;
  const TimePoint until = trusted_until(sent, extension.lease);
  const bool newest = extension.number == hold->extensions;
  hold->set_until = newest ? until : std::min(hold->set_until, until);
  if (newest && hold->few() != nullptr) hold->few()->cut_until = kNever;
  book_.arm(*hold, sent);
  book_.renew_record(*hold);
  hold->trace(Hold::Step::kExtended);
}

}  // namespace holdfast::lease
