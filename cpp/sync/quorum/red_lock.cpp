#include "sync/quorum/red_lock.h"

#include <algorithm>

namespace holdfast::sync {

namespace {

// A member's time to answer: a 200th of the lease, within these bounds.
constexpr Millis kLeastTime{5};
constexpr Millis kMostTime{50};
constexpr int kPartOfLease = 200;
// A server may die while the client waits for its message: then the others are tried.
constexpr Millis kWatchTime{250};

}  // namespace

QuorumRule red_lock_rule(std::size_t members, Millis lease) {
  const Millis time = std::clamp(lease / kPartOfLease, kLeastTime, kMostTime);
  return {members, members / 2 + 1, false, time, kWatchTime};
}

}  // namespace holdfast::sync
