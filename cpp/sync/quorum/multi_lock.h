#pragma once

#include <cstddef>

#include "sync/quorum/quorum_round.h"

namespace holdfast::sync {

// All of the members, which may be on one server or on several, or none.
inline QuorumRule multi_lock_rule(std::size_t members, Millis /*lease*/) {
  return {members, members, true};
}

}  // namespace holdfast::sync
