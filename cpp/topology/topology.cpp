#include "topology/topology.h"

#include "topology/cluster.h"
#include "topology/sentinel.h"
#include "topology/standalone.h"

namespace holdfast::topology {

std::shared_ptr<Topology> make(const Clock& clock, const Loops& loops, const Setup& setup) {
  switch (setup.endpoint.deployment) {
    case net::Deployment::kSentinel:
      return std::make_shared<Sentinel>(clock, loops, setup);
    case net::Deployment::kCluster: {
      auto cluster = std::make_shared<Cluster>(clock, loops, setup);
      cluster->start();
      return cluster;
    }
    case net::Deployment::kStandalone:
      break;
  }
  return std::make_shared<Standalone>(clock, loops, setup);
}

}  // namespace holdfast::topology
