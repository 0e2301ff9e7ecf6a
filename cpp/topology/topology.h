#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "client/connection.h"
#include "client/subscriber.h"

namespace holdfast::topology {

// What travels on a connection: each has its own, so that none delays another. Confirmations block
// theirs while replicas lag behind.
enum class Traffic { kCalls, kRenewals, kConfirmations };

// Which server answers for a key. Thread-safe.
class Topology {
 public:
  virtual ~Topology() = default;

  virtual std::shared_ptr<client::Connection> route(std::string_view key, Traffic traffic) = 0;
  virtual std::shared_ptr<client::Subscriber> subscriber(std::string_view channel) = 0;

  // The command by which scripts publish: "publish", or "spublish" for sharded channels.
  virtual std::string_view publish_command() const = 0;

  // The servers, for messages; without user and password.
  virtual std::string text() const = 0;

  virtual void close(const Status& why) = 0;
};

}  // namespace holdfast::topology
