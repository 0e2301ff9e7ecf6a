#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "client/connection.h"
#include "client/subscriber.h"
#include "net/endpoint.h"
#include "net/loop.h"

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
  std::function<void()> on_lost{};         // a connection broke: holds must be verified
  std::optional<client::PubSub> pubsub{};  // of a cluster; unset: depends on its servers
};

}  // namespace holdfast::topology
