// The keeper's part of detaching: a hold that is to be given another field, and may have it
// already.

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "base/uuid.h"
#include "lease/hold_record.h"
#include "lease/lease_keeper.h"

namespace holdfast::lease {

Millis ReleasePlan::stays(TimePoint now) const {
  if (closed_until <= now) return Millis(0);
  return std::chrono::ceil<Millis>(closed_until - now);
}

ReleasePlan LeaseKeeper::begin_detach(const LockName& name, OwnerNumber owner, Millis lease) {
  using Verdict = ReleasePlan::Verdict;
  const MutexLock guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold == nullptr) return {};
  const TimePoint now = clock_.now();
  if (hold->held() && now >= hold->trusted()) note_lost(*hold, kRanOut);
  ReleasePlan plan = plan_release(*hold, true);
  if (!hold->held()) {
    if (plan.verdict != Verdict::kLost) plan.verdict = Verdict::kNotOwned;
    return plan;
  }
  if (!hold->move) {
    const std::string other = owner_field(fresh_uuid(), ticket_number(next_owner_number()));
    hold->move = std::make_unique<Hold::Move>(Hold::Move{other, lease, lease, Millis(0)});
  }
  hold->move->asked = lease;
  hold->move->shortest = std::min(hold->move->shortest, lease);
  hold->move->minimum = plan.stays(now);
  hold->detaching = true;
  hold->set_until = std::min(hold->set_until, trusted_until(now, lease));
  arm(*hold, now);
  plan.other = hold->move->other;
  return plan;
}

void LeaseKeeper::end_detach(const LockName& name, OwnerNumber owner, bool done) {
  const MutexLock guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold == nullptr || !std::exchange(hold->detaching, false) || !hold->held()) return;
  if (done) {
    count(*hold, Stats::Counter::kReleased);
    count_end(*hold, clock_.now());
    return erase(*hold);
  }
  hold->next_renewal = clock_.now();
  arm(*hold, hold->next_renewal);
}

std::optional<LeaseKeeper::Detached> LeaseKeeper::detached(const LockName& name,
                                                           OwnerNumber owner) const {
  const MutexLock guard(mutex_);
  const Hold* hold = find(name, owner);
  if (hold == nullptr || !hold->detaching || !hold->held()) return std::nullopt;
  const Hold::Move& move = *hold->move;
  std::optional<std::int64_t> token;
  if (hold->token != 0) token = hold->token;
  return Detached{move.other, token, move.asked, move.minimum};
}

std::string LeaseKeeper::other_field(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(mutex_);
  const Hold* hold = find(name, owner);
  return hold != nullptr && hold->move ? hold->move->other : std::string();
}

}  // namespace holdfast::lease
