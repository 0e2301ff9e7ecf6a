#include "support/client.h"

#include <chrono>
#include <utility>

#include "locks/lease/watchdog.h"

namespace holdfast::simulation {

namespace {

using client::Connection;
using client::Subscriber;

constexpr const char* kCalls = "/calls";
constexpr const char* kRenewals = "/renewals";

// The connections of one client, opened on the simulated network.
class Topology final : public topology::Topology {
 public:
  struct Setup {
    client::StreamOptions link;
    std::string id;
    std::weak_ptr<Subscriber::Sink> sink;
    std::function<void()> on_lost;
    Connection::Driver driver = Connection::Driver::kLoop;
    client::TrackingMode tracking = client::TrackingMode::kOff;
    std::function<void(const client::KeyChanges&)> on_changes;
  };

  Topology(World& world, Network& network, SteppedLoop& loop, const Setup& setup)
      : calls_(connection(world, network, loop, setup, kCalls)),
        renewals_(connection(world, network, loop, setup, kRenewals)),
        confirmations_(connection(world, network, loop, setup, "/confirmations")),
        subscriber_(std::make_shared<Subscriber>(world, loop, setup.link, setup.sink,
                                                 opener(network, setup.id + "/messages"))) {}

  std::shared_ptr<Connection> route(std::string_view, topology::Traffic traffic) override {
    if (traffic == topology::Traffic::kConfirmations) return confirmations_;
    return traffic == topology::Traffic::kCalls ? calls_ : renewals_;
  }
  void subscribe(const std::string& channel) override { subscriber_->subscribe(channel); }
  void release(const std::string& channel, Duration linger) override {
    subscriber_->release(channel, linger);
  }
  std::shared_ptr<Subscriber> subscriber(const std::string&) override { return subscriber_; }
  std::string_view publish_command() const override { return "publish"; }
  std::string text() const override { return "the simulated server"; }
  void close(const Status& why) override {
    calls_->close(why);
    renewals_->close(why);
    confirmations_->close(why);
    subscriber_->close();
  }

 private:
  static client::ReconnectingStream::Open opener(Network& network, const std::string& owner) {
    return [&network, owner](const client::StreamOptions&) { return network.open(owner); };
  }
  static std::shared_ptr<Connection> connection(World& world, Network& network, SteppedLoop& loop,
                                                const Setup& setup, const std::string& purpose) {
    const auto driver = purpose == kCalls ? setup.driver : Connection::Driver::kLoop;
    Connection::Setup made{setup.link, driver, setup.on_lost};
    made.open = opener(network, setup.id + purpose);
    if (purpose == kRenewals) made.link.tracking = setup.tracking;
    made.on_changes = setup.on_changes;
    return std::make_shared<Connection>(world, loop, std::move(made));
  }

  const std::shared_ptr<Connection> calls_;
  const std::shared_ptr<Connection> renewals_;
  const std::shared_ptr<Connection> confirmations_;
  const std::shared_ptr<Subscriber> subscriber_;
};

}  // namespace

std::shared_ptr<Client> Client::make(World& world, Network& network, SteppedLoop& loop,
                                     const ClientPlan& plan) {
  std::shared_ptr<Client> client(new Client(plan));
  const auto stats = std::make_shared<Stats>();
  const auto keeper = std::make_shared<lease::Keeper>(world, loop, plan.id, client->events_, stats);
  client->hub_ = std::make_shared<engine::WaitHub>();
  Topology::Setup setup;
  setup.id = plan.id;
  setup.driver = plan.driver;
  setup.link.connect_timeout = plan.command_timeout;
  setup.link.command_timeout = plan.command_timeout;
  setup.link.retries = plan.retries;
  setup.sink = client->hub_;
  setup.on_lost = [weak = std::weak_ptr<lease::Keeper>(keeper)] {
    if (const auto strong = weak.lock()) strong->watchdog().verify();
  };
  if (plan.tracks) setup.tracking = client::TrackingMode::kTried;
  if (plan.tracks) keeper->watchdog().track();
  setup.on_changes = [weak = std::weak_ptr<lease::Keeper>(keeper)](const auto& changes) {
    if (const auto strong = weak.lock()) strong->watchdog().changed(changes);
  };
  const auto topology = std::make_shared<Topology>(world, network, loop, setup);
  client->hub_->set_up(topology, setup.on_lost);
  keeper->watchdog().set_topology(topology, plan.command_timeout);
  std::shared_ptr<sync::ReplicaAcknowledger> acknowledger;
  if (plan.replicas > 0) {
    const sync::ReplicationPolicy policy{plan.replicas, plan.command_timeout};
    acknowledger = std::make_shared<sync::ReplicaAcknowledger>(world, topology, policy);
  }
  client->context_ = std::shared_ptr<const sync::Context>(new sync::Context{
      world, plan.id, plan.command_timeout, topology, keeper,
      std::shared_ptr<wait::WaitRegistry>(client->hub_, &client->hub_->registry),
      std::make_shared<sync::Timers>(world, loop), std::move(acknowledger), stats});
  return client;
}

// A pending release and an armed timer keep the context; the time of a timer may never come here.
Client::~Client() {
  events_->end();
  context_->topology->close(Status::closed("the scenario is over"));
  context_->keeper->close();
  (void)context_->timers->step(context_->clock.now() + std::chrono::hours(1));
}

void Client::begin_close(Millis timeout, bool release_held) {
  closed_ = true;
  closing_ = engine::Closing::begin(context_, {timeout, release_held});
}

void Client::close(Millis timeout, bool release_held) {
  begin_close(timeout, release_held);
  closing_->finish_to(shared_from_this(), 0);
}

std::vector<std::string> Client::close_and_wait(Millis timeout, bool release_held) {
  begin_close(timeout, release_held);
  (void)closing_->wait(nullptr);
  return closing_->names();
}

std::optional<std::vector<std::string>> Client::left_behind() const {
  if (!ended_) return std::nullopt;
  return closing_->names();
}

bool Client::reachable(const Network& network, const std::string& channel) const {
  bool calls = false;
  bool confirmations = plan_.replicas == 0;
  bool messages = channel.empty();
  for (const auto& wire : network.wires()) {
    if (!wire->healthy()) continue;
    calls = calls || wire->owner() == plan_.id + "/calls";
    confirmations = confirmations || wire->owner() == plan_.id + "/confirmations";
    messages =
        messages || (wire->owner() == plan_.id + "/messages" && wire->channels.count(channel) != 0);
  }
  return calls && messages && confirmations;
}

}  // namespace holdfast::simulation
