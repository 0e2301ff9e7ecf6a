#pragma once

#include <memory>
#include <string>

#include "topology/setup.h"
#include "topology/topology.h"

namespace holdfast::topology {

// One server, or a proxy in front of several.
class Standalone final : public Topology {
 public:
  Standalone(const Clock& clock, const Loops& loops, const Setup& setup);

  std::shared_ptr<client::Connection> route(std::string_view key, Traffic traffic) override;
  void subscribe(const std::string& channel) override { subscriber_->subscribe(channel); }
  void release(const std::string& channel, Duration linger) override {
    subscriber_->release(channel, linger);
  }
  std::shared_ptr<client::Subscriber> subscriber(const std::string& /*channel*/) override {
    return subscriber_;
  }
  std::string_view publish_command() const override { return publish_; }
  std::string text() const override { return address_; }
  std::size_t reauthenticate(const client::LoginPtr& login) override;
  void close(const Status& why) override;

 private:
  const std::string address_;
  const char* const publish_;
  const std::shared_ptr<client::Connection> calls_;
  const std::shared_ptr<client::Connection> renewals_;
  const std::shared_ptr<client::Connection> confirmations_;
  const std::shared_ptr<client::Subscriber> subscriber_;
};

}  // namespace holdfast::topology
