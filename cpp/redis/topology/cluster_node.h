#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "redis/topology/server_links.h"
#include "redis/topology/slot_map.h"
#include "redis/topology/topology.h"

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
struct ClusterNode {
  // `setup.link` is without the address.
  ClusterNode(const Clock& clock, const Loops& loops, Setup setup,
              const std::weak_ptr<ClusterWatcher>& watcher, Server named);

  const Server server;
  const std::shared_ptr<client::Subscriber::Sink> listener;
  const ServerLinks links;
};

// The servers of a cluster that a client knows, each with its number. Not thread-safe.
class ClusterNodes {
 public:
  ClusterNodes(const Clock& clock, const Loops& loops, Setup setup);
  // Once, before all others.
  void start(std::weak_ptr<ClusterWatcher> watcher);

  // Null: that number is no server's, or no longer.
  ClusterNode* find(ServerNumber number) const;
  // For keys whose server is unknown.
  const std::shared_ptr<ClusterNode>& nowhere() const { return nowhere_; }
  // The server there, with a new number if it is not known.
  ClusterNode& at(const net::Address& address);
  std::vector<std::shared_ptr<ClusterNode>> all() const;
  // How the subscribers of servers subscribe that become known from now on; else kClassic.
  void set_mode(client::PubSub mode) { mode_ = mode; }

  // A server's view of the cluster: which servers have slots, and their replicas. One that
  // has lost its last slots is left. One that never had any stays: it may be about to get some.
  void keep(std::set<ServerNumber> primaries, std::vector<net::Address> replicas);
  // The servers that may be queried for the slots: the known ones, the replicas, and those of the
  // URL.
  std::vector<net::Address> addresses() const;

 private:
  std::shared_ptr<ClusterNode> make(Server server) const;

  const Clock& clock_;
  const Loops loops_;
  const Setup setup_;
  std::weak_ptr<ClusterWatcher> watcher_;
  std::shared_ptr<ClusterNode> nowhere_;
  client::PubSub mode_ = client::PubSub::kClassic;
  ServerNumber numbers_ = 0;
  std::unordered_map<ServerNumber, std::shared_ptr<ClusterNode>> nodes_;
  std::set<ServerNumber> primaries_;  // servers of slots, by what was said last
  std::vector<net::Address> replicas_;
};

}  // namespace holdfast::topology
