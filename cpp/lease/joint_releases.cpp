#include "lease/joint_releases.h"

#include <utility>

#include "lease/hold_record.h"

namespace holdfast::lease {

std::optional<JointReleases::Lost> JointReleases::begin(const LockName& name,
                                                        const Owners& owners) {
  const MutexLock guard(book_.mutex);
  for (const OwnerNumber owner : owners) {
    Hold* const hold = book_.holds.find(name, owner);
    if (hold == nullptr) continue;
    book_.lose_if_over(*hold);
    const bool unreported = !hold->held() && !std::exchange(hold->reported, true);
    if (unreported) return Lost{owner, hold->reason()};
  }
  const TimePoint now = book_.clock.now();
  for (const OwnerNumber owner : owners) {
    Hold* const hold = book_.holds.find(name, owner);
    if (hold == nullptr || !hold->held()) continue;
    hold->joint = true;
    hold->trace(Hold::Step::kReleased);
    book_.arm(*hold, now);
  }
  return std::nullopt;
}

void JointReleases::end(const LockName& name, const Owners& owners, bool released) {
  const MutexLock guard(book_.mutex);
  for (const OwnerNumber owner : owners) {
    Hold* const hold = book_.holds.find(name, owner);
    if (hold == nullptr || !std::exchange(hold->joint, false) || !hold->held()) continue;
    if (released) {
      book_.events.count(*hold, Stats::Counter::kReleased);
      book_.events.count_end(*hold, book_.clock.now());
      book_.end_record(hold->record);
      book_.holds.erase(*hold);
    } else {
      book_.resume(*hold);
    }
  }
}

}  // namespace holdfast::lease
