#pragma once

#include <algorithm>
#include <vector>

#include "locks/lease/hold.h"

namespace holdfast::lease {

// Holds that have ended, of which a renewal may still be executed, on the owner's next hold. Most
// often there are none. Not thread-safe: see Keeper.
class LateRenewals {
 public:
  // The hold ends.
  void note(Hold& hold, TimePoint now) {
    if (!hold.renewal_may_come(now)) return;
    if (holds_.size() == holds_.capacity()) forget(now);
    holds_.emplace_back(&hold);
  }
  bool on_wire(const LockName& name, OwnerNumber owner, TimePoint now) const {
    return std::any_of(holds_.begin(), holds_.end(), [&](const HoldPtr& hold) {
      return hold->owner == owner && hold->name == name && hold->renewal_may_come(now);
    });
  }
  // Forgets those that cannot be executed any more.
  void forget(TimePoint now) {
    const auto over = [now](const HoldPtr& hold) { return !hold->renewal_may_come(now); };
    holds_.erase(std::remove_if(holds_.begin(), holds_.end(), over), holds_.end());
  }

 private:
  std::vector<HoldPtr> holds_;
};

}  // namespace holdfast::lease
