#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "topology/sentinel_watch.h"
#include "topology/server_links.h"
#include "topology/topology.h"

namespace holdfast::topology {

// The primary of a service, as the sentinels name it: the connections of one server, which move
// when the primary does. The sentinels are watched from the first use on.
class Sentinel final : public Topology {
 public:
  Sentinel(const Clock& clock, const Loops& loops, const Setup& setup);

  std::shared_ptr<client::Connection> route(std::string_view key, Traffic traffic) override;
  void subscribe(const std::string& channel) override;
  void release(const std::string& channel, Duration linger) override {
    links_.subscriber()->release(channel, linger);
  }
  std::shared_ptr<client::Subscriber> subscriber(const std::string& /*channel*/) override {
    return links_.subscriber();
  }
  std::string_view publish_command() const override { return "publish"; }
  std::string text() const override { return watch_->text(); }
  std::size_t reauthenticate(const client::LoginPtr& login) override {
    return links_.reauthenticate(login);
  }
  void close(const Status& why) override;

 private:
  void start();

  const std::shared_ptr<SentinelWatch> watch_;
  const ServerLinks links_;
  const std::function<void()> verify_;
  std::once_flag started_;
};

}  // namespace holdfast::topology
