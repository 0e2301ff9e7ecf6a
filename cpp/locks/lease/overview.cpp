#include "locks/lease/overview.h"

#include <utility>

namespace holdfast::lease {

std::vector<Holder> holders(const Keeper& keeper, const LockName& name) {
  const MutexLock guard(keeper.mutex);
  const TimePoint now = keeper.clock.now();
  std::vector<Holder> holders;
  for (const Holds::Entry* const entry : keeper.holds.named(name.bytes())) {
    const bool holds = entry->name == name && entry->hold && entry->hold->trusted_at(now);
    if (holds) holders.push_back({entry->owner, {}});
  }
  keeper.events.append_ended(holders, name, now);
  return holders;
}

std::vector<Held> all_held(const Keeper& keeper) {
  const MutexLock guard(keeper.mutex);
  std::vector<Held> all;
  for (const Holds::Entry* const entry : keeper.holds.all()) {
    const Hold* const hold = entry->hold.get();
    const bool held = hold != nullptr && hold->held();
    if (held) all.push_back({hold->name, hold->owner, hold->renewal, hold->internal});
  }
  return all;
}

bool acquiring(const Keeper& keeper) {
  const MutexLock guard(keeper.mutex);
  return keeper.acquisitions > 0;
}

void excuse(Keeper& keeper, const LockName& name, OwnerNumber by, bool excused) {
  const MutexLock guard(keeper.mutex);
  for (const Holds::Entry* const entry : keeper.holds.named(name.bytes())) {
    const bool held = entry->hold && entry->hold->held();
    if (held && entry->owner == by) entry->hold->excused = excused;
  }
}

void forced(Keeper& keeper, const LockName& name, TimePoint sent) {
  const MutexLock guard(keeper.mutex);
  for (const Holds::Entry* const entry : keeper.holds.named(name.bytes())) {
    // A release under way learns by its own answer what it has met.
    const bool held = entry->hold && entry->hold->held();
    const bool before = held && entry->hold->requested <= sent;
    if (before) keeper.lose(*entry->hold, "it was released by force");
  }
}

void owner_ended(Keeper& keeper, OwnerNumber owner, const std::string& what) {
  const MutexLock guard(keeper.mutex);
  keeper.blocks.owner_ended(owner);
  for (Holds::Entry* const each : keeper.holds.of(owner)) {
    const UsedEntry entry(keeper.holds, each);
    keeper.holds.end_owner(*entry);
    Hold* const hold = entry.current();
    if (hold == nullptr) continue;
    if (hold->held()) {
      hold->ensure_extras().reason = what;
      keeper.events.abandoned(*hold, what);
      keeper.events.count_end(*hold, keeper.clock.now());
      keeper.events.count(*hold, Stats::Counter::kLost);
      hold->trace(Hold::Step::kLost);
    }
    hold->record = 0;  // it is there until its lease is over
    keeper.end_note(*hold, hold->set_until);
    keeper.holds.end(*entry);
  }
  if (keeper.reports) keeper.step_by({});
}

}  // namespace holdfast::lease
