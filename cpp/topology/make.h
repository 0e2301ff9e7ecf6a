#pragma once

#include <memory>

#include "base/clock.h"
#include "topology/setup.h"
#include "topology/topology.h"

namespace holdfast::topology {

// The topology of `setup.endpoint.deployment`; nothing is sent yet. `clock` and the loops must
// outlive it.
std::shared_ptr<Topology> make(const Clock& clock, const Loops& loops, const Setup& setup);

}  // namespace holdfast::topology
