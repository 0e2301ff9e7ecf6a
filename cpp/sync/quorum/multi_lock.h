#pragma once

#include <cstddef>

#include "sync/quorum/quorum_machine.h"

namespace holdfast::sync {

// All of the members, which may be on one server or on several, or none.
QuorumRule multi_lock_rule(std::size_t members, Millis lease);

}  // namespace holdfast::sync
