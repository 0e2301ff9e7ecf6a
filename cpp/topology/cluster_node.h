#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "topology/server_links.h"
#include "topology/slot_map.h"
#include "topology/topology.h"

namespace holdfast::topology {

// A server of a cluster, as one client knows it.
struct Server {
  ServerNumber number = 0;
  net::Address address;
};

// The part of Cluster that its nodes call. Called by any thread, without locks held (`owns`: with
// some).
class ClusterWatcher {
 public:
  virtual ~ClusterWatcher() = default;

  // See Connection::Neighbours and Connection::Redirect.
  virtual bool owns(ServerNumber server, std::string_view key) const = 0;
  virtual Status take_over(client::InFlightRequest unanswered, Traffic traffic, bool queued) = 0;
  virtual bool redirect(const Server& from, const client::InFlightRequest& unanswered,
                        Traffic traffic, std::string_view error) = 0;

  // See Subscriber::Sink.
  virtual bool redirect_channel(const Server& from, const std::string& channel,
                                std::string_view error) = 0;
  // The number of requests for the channel so far; and: it has not been requested since.
  virtual std::uint64_t subscriptions_made(const std::string& channel) const = 0;
  virtual void forget_channel(const std::string& channel, std::uint64_t subscriptions_made) = 0;

  virtual void lost(ServerNumber server) = 0;     // a stream broke
  virtual void trouble(ServerNumber server) = 0;  // an attempt to connect failed
};

// One server of a cluster, with a client's connections to it. The server with the number 0 is none:
// it hands every request over.
class ClusterNode {
 public:
  // `setup.link` is without the address.
  ClusterNode(const Clock& clock, const Loops& loops, Setup setup,
              const std::weak_ptr<ClusterWatcher>& watcher, Server server);

  const Server& server() const { return server_; }
  const ServerLinks& links() const { return links_; }

 private:
  class NodeListener;

  const Server server_;
  const std::shared_ptr<NodeListener> listener_;
  const ServerLinks links_;
};

}  // namespace holdfast::topology
