#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "client/connection.h"
#include "client/subscriber.h"
#include "net/endpoint.h"
#include "net/loop.h"
#include "topology/topology.h"

namespace holdfast::topology {

// The threads that drive a client's connections.
struct Loops {
  net::Loop& io;        // pub/sub, asyncio
  net::Loop& watchdog;  // renewals
};

// The settings of a topology, for any deployment.
struct Setup {
  net::Endpoint endpoint;
  client::StreamOptions link;  // of each server that answers for keys; its address is the first one
  client::Connection::Driver driver = client::Connection::Driver::kCallers;
  std::weak_ptr<client::Subscriber::Sink> sink{};
  std::function<void()> on_lost{};  // a connection broke: holds must be verified
  // Unset: of a cluster it depends on the servers; else it is kClassic.
  std::optional<client::PubSub> pubsub{};
  client::TrackingMode tracking = client::TrackingMode::kOff;  // of what renewals read
  std::function<void(const client::Changes&)> on_changes{};    // of that
  // Makes the witness of one connection for calls; empty: there is none.
  std::function<std::shared_ptr<client::StreamWitness>()> witness{};
};

// The command by which scripts publish.
inline const char* publish_command_of(client::PubSub mode) {
  switch (mode) {
    case client::PubSub::kSharded:
      return "spublish";
    case client::PubSub::kBoth:
      return "both";
    default:
      return "publish";
  }
}

// The options of `link` for a connection of that traffic. The servers are asked to track on the
// connection for renewals alone; where they must, the one for calls shows that they would.
inline client::StreamOptions with_tracking(client::StreamOptions link, Traffic traffic,
                                           client::TrackingMode mode) {
  using Mode = client::TrackingMode;
  if (traffic == Traffic::kRenewals && mode != Mode::kOff) link.tracking = Mode::kTried;
  if (traffic == Traffic::kCalls && mode == Mode::kRequired) link.tracking = Mode::kRequired;
  return link;
}

}  // namespace holdfast::topology
