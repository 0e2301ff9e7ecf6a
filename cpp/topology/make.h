#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "net/endpoint.h"
#include "topology/topology.h"

namespace holdfast::topology {

// What a topology is made of, whatever it is.
struct Parts {
  client::LinkOptions link;  // but for the address
  client::Connection::Driver driver = client::Connection::Driver::kCallers;
  std::weak_ptr<client::Subscriber::Sink> sink;
  std::function<void()> on_lost;         // a connection broke: what is held must be verified
  std::optional<client::PubSub> pubsub;  // of a cluster; nothing: as its servers can
};

// The topology of an endpoint's deployment.
std::shared_ptr<Topology> make(const Clock& clock, const Loops& loops,
                               const net::Endpoint& endpoint, Parts parts);

}  // namespace holdfast::topology
