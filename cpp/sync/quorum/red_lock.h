#pragma once

#include <cstddef>

#include "sync/quorum/quorum_round.h"

namespace holdfast::sync {

// A majority of members on independent servers (the Redlock algorithm). A member has a small part
// of the lease to answer in, so that servers that hang cost little of what is granted.
QuorumRule red_lock_rule(std::size_t members, Millis lease);

}  // namespace holdfast::sync
