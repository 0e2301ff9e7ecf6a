#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "redis/base/clock.h"
#include "redis/client/connection.h"
#include "redis/client/subscriber.h"
#include "redis/net/endpoint.h"
#include "redis/net/pollable.h"
#include "redis/topology/slot_map.h"

namespace holdfast::topology {

// The kinds of traffic. Each has a separate connection, so that none delays another; confirmations
// block theirs while replicas lag behind.
enum class Traffic { kCalls, kRenewals, kConfirmations };
constexpr std::array kAllTraffic{Traffic::kCalls, Traffic::kRenewals, Traffic::kConfirmations};

// One T for each kind of traffic.
template <typename T>
struct PerTraffic : std::array<T, kAllTraffic.size()> {
  T& operator[](Traffic of) { return this->data()[static_cast<std::size_t>(of)]; }
  const T& operator[](Traffic of) const { return this->data()[static_cast<std::size_t>(of)]; }
};

// The threads that drive a client's connections.
struct Loops {
  net::Loop& io;  // pub/sub, asyncio
  net::Loop& renewals;
};

// The settings of a topology, for any deployment.
struct Setup {
  net::Endpoint endpoint;
  client::StreamOptions
      link;  // for each server that answers for keys; its address is the first one
  client::Connection::Driver driver = client::Connection::Driver::kCallers;
  std::weak_ptr<client::Subscriber::Sink> sink{};
  std::function<void()> on_lost{};  // a connection broke: holds must be verified
  // Unset: of a cluster it depends on the servers; else it is kClassic.
  std::optional<client::PubSub> pubsub{};
  client::TrackingMode tracking =
      client::TrackingMode::kOff;  // whether servers track the keys that renewals read
  std::function<void(const client::KeyChanges&)> on_changes{};  // called with changes of those
  // A connection for renewals that is silent for longer is given up while there is time for
  // another; at most link.command_timeout.
  Millis renewal_timeout = Millis::max();
  // The primary of a service, where it is known already: used until the sentinels name another one.
  std::optional<net::Address> primary{};
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

// Chooses the server for a key. Thread-safe.
class Topology {
 public:
  virtual ~Topology() = default;

  virtual std::shared_ptr<client::Connection> route(std::string_view key, Traffic traffic) = 0;
  // The slot of a key in a cluster, where a command may only have keys of one slot; else none.
  virtual std::optional<Slot> slot(std::string_view /*key*/) const { return std::nullopt; }

  // As Subscriber's, at the server where the channel's messages are published. With any lock held.
  virtual void subscribe(const std::string& channel) = 0;
  virtual void release(const std::string& channel, Duration linger) = 0;
  // The subscriber that does, for threads that wait; null where it is not known. As route().
  virtual std::shared_ptr<client::Subscriber> subscriber(const std::string& channel) = 0;

  // The command by which scripts publish: "publish", "spublish" for sharded channels, or "both".
  virtual std::string_view publish_command() const = 0;

  // The servers, for messages; without user and password.
  virtual std::string text() const = 0;

  // Sends newer credentials on the open connections to servers that answer for keys; how many.
  virtual std::size_t reauthenticate(const client::LoginPtr& /*login*/) { return 0; }

  virtual void close(const Status& why) = 0;
};

// The topology of `setup.endpoint.deployment`; nothing is sent yet. `clock` and the loops must
// outlive it.
std::shared_ptr<Topology> make(const Clock& clock, const Loops& loops, const Setup& setup);

}  // namespace holdfast::topology
