#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "topology/setup.h"
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

// The connections of one client to one server of a cluster: for each kind of traffic, and for
// pub/sub. Each connects on first use.
class ClusterNode {
 public:
  struct Setup {
    client::StreamOptions link;  // except for the address
    client::Connection::Driver driver = client::Connection::Driver::kCallers;
    std::weak_ptr<client::Subscriber::Sink> sink;
    std::weak_ptr<ClusterWatcher> watcher;
    client::TrackingMode tracking = client::TrackingMode::kOff;
    std::function<void(const client::Changes&)> on_changes{};
    std::function<std::shared_ptr<client::StreamWitness>()> witness{};  // as topology::Setup's
  };

  ClusterNode(const Clock& clock, const Loops& loops, const Setup& setup, Server server);

  const Server& server() const { return server_; }
  const std::shared_ptr<client::Connection>& connection(Traffic traffic) const {
    return connections_[traffic];
  }

  // The subscriber of a channel; `mode`: the same for all channels.
  const std::shared_ptr<client::Subscriber>& subscriber() const { return subscriber_; }
  void listen(client::PubSub mode) { subscriber_->set_mode(mode); }

  void review();                                              // as Connection's
  std::size_t reauthenticate(const client::LoginPtr& login);  // as Topology's
  void decommission();
  void close(const Status& why);

  // One connection. Without a server (number 0) it hands every request over.
  struct Way {
    Server server;
    Traffic traffic;
  };
  static std::shared_ptr<client::Connection> connect(const Clock& clock, const Loops& loops,
                                                     const Setup& setup, const Way& way);

 private:
  class NodeListener;

  const Server server_;
  const std::shared_ptr<NodeListener> listener_;
  PerTraffic<std::shared_ptr<client::Connection>> connections_;
  const std::shared_ptr<client::Subscriber> subscriber_;
};

}  // namespace holdfast::topology
