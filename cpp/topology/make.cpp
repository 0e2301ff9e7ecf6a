#include "topology/make.h"

#include "topology/standalone.h"

namespace holdfast::topology {

std::shared_ptr<Topology> make(const Clock& clock, const Loops& loops, const Setup& setup) {
  return std::make_shared<Standalone>(clock, loops, setup);
}

}  // namespace holdfast::topology
