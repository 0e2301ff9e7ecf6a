#include "topology/topology.h"

#include "topology/cluster.h"
#include "topology/sentinel.h"
#include "topology/server_links.h"

namespace holdfast::topology {

namespace {

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

Standalone::Standalone(const Clock& clock, const Loops& loops, const Setup& setup)
    : address_(setup.link.address.text()),
      publish_(publish_command_of(setup.pubsub.value_or(client::PubSub::kClassic))),
      links_(clock, loops, setup) {
  if (setup.pubsub) links_.subscriber()->set_mode(*setup.pubsub);
}

}  // namespace

std::shared_ptr<Topology> make(const Clock& clock, const Loops& loops, const Setup& setup) {
  switch (setup.endpoint.deployment) {
    case net::Deployment::kSentinel:
      return std::make_shared<Sentinel>(clock, loops, setup);
    case net::Deployment::kCluster: {
      auto cluster = std::make_shared<Cluster>(clock, loops, setup);
      cluster->start();
      return cluster;
    }
    case net::Deployment::kStandalone:
      break;
  }
  return std::make_shared<Standalone>(clock, loops, setup);
}

}  // namespace holdfast::topology
