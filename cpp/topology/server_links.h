#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "topology/topology.h"

namespace holdfast::topology {

// The connections of one client to one server: for each kind of traffic, and for pub/sub. Each
// connects on first use. Thread-safe.
class ServerLinks {
 public:
  // Completes the settings of the connection for that traffic.
  using Complete = std::function<void(client::ConnectionSetup&, Traffic)>;

  // `setup.link` leads to the server. The loss of the connection for confirmations, which hold
  // nothing, is not reported to `setup.on_lost`.
  ServerLinks(const Clock& clock, const Loops& loops, const Setup& setup,
              const Complete& complete = {});

  const std::shared_ptr<client::Connection>& connection(Traffic traffic) const {
    return connections_[traffic];
  }
  const std::shared_ptr<client::Subscriber>& subscriber() const { return subscriber_; }

  void review() const;                                              // as Connection's
  std::size_t reauthenticate(const client::LoginPtr& login) const;  // as Topology's
  void decommission() const;                                        // as Connection's
  void close(const Status& why) const;

 private:
  PerTraffic<std::shared_ptr<client::Connection>> connections_;
  std::shared_ptr<client::Subscriber> subscriber_;
};

}  // namespace holdfast::topology
