#include "topology/make.h"

#include <utility>

#include "topology/cluster.h"
#include "topology/standalone.h"

namespace holdfast::topology {

std::shared_ptr<Topology> make(const Clock& clock, const Loops& loops,
                               const net::Endpoint& endpoint, Parts parts) {
  if (endpoint.deployment == net::Deployment::kCluster) {
    auto cluster = std::make_shared<Cluster>(
        clock, loops,
        Cluster::Setup{endpoint.addresses, std::move(parts.link), parts.driver,
                       std::move(parts.sink), std::move(parts.on_lost), parts.pubsub});
    cluster->start();
    return cluster;
  }
  Standalone::Setup setup{std::move(parts.link), parts.driver, std::move(parts.sink),
                          std::move(parts.on_lost)};
  setup.link.address = endpoint.addresses.front();
  return std::make_shared<Standalone>(clock, loops, setup);
}

}  // namespace holdfast::topology
