#include "redis/topology/topology.h"

#include "redis/topology/cluster.h"
#include "redis/topology/sentinel.h"
#include "redis/topology/server_links.h"

namespace holdfast::topology {

std::shared_ptr<Topology> make(const Clock& clock, const Loops& loops, const Setup& setup) {
  switch (setup.endpoint.deployment) {
    case net::Deployment::kSentinel:
      return Sentinel::make(clock, loops, setup);
    case net::Deployment::kCluster: {
      auto cluster = std::make_shared<Cluster>(clock, loops, setup);
      cluster->start();
      return cluster;
    }
    case net::Deployment::kStandalone:
      break;
  }
  const ServerLinks links(clock, loops, setup);
  if (setup.pubsub) links.subscriber()->set_mode(*setup.pubsub);
  return std::make_shared<SingleServer>(links, setup.link.address.text(),
                                        setup.pubsub.value_or(client::PubSub::kClassic));
}

}  // namespace holdfast::topology
