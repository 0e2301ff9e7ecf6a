#pragma once

#include <memory>
#include <string>

#include "topology/server_links.h"
#include "topology/topology.h"

namespace holdfast::topology {

// One server, or a proxy in front of several.
class Standalone final : public Topology {
 public:
  Standalone(const Clock& clock, const Loops& loops, const Setup& setup);

  std::shared_ptr<client::Connection> route(std::string_view /*key*/, Traffic traffic) override {
    return links_.connection(traffic);
  }
  void subscribe(const std::string& channel) override { links_.subscriber()->subscribe(channel); }
  void release(const std::string& channel, Duration linger) override {
    links_.subscriber()->release(channel, linger);
  }
  std::shared_ptr<client::Subscriber> subscriber(const std::string& /*channel*/) override {
    return links_.subscriber();
  }
  std::string_view publish_command() const override { return publish_; }
  std::string text() const override { return address_; }
  std::size_t reauthenticate(const client::LoginPtr& login) override {
    return links_.reauthenticate(login);
  }
  void close(const Status& why) override { links_.close(why); }

 private:
  const std::string address_;
  const char* const publish_;
  const ServerLinks links_;
};

}  // namespace holdfast::topology
