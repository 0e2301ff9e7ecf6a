#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/stats.h"
#include "client/send_batch.h"
#include "client/subscriber.h"
#include "topology/topology.h"
#include "wait/grant.h"
#include "wait/wait_registry.h"

namespace holdfast::engine {

// Connects the registry of waiters with the subscribers of a topology. Thread-safe once it is set
// up.
class WaitHub final : public client::Subscriber::Sink, public wait::Subscriptions {
 public:
  // `client_id`: of a client to which releases of others grant locks, see grants(); empty: none do.
  explicit WaitHub(const std::string& client_id = {},
                   std::shared_ptr<Stats> stats = std::make_shared<Stats>())
      : suffix_(client_id.empty() ? std::string() : ':' + client_id),
        stats_(std::move(stats)),
        registry_(*this) {}

  void set_topology(std::weak_ptr<topology::Topology> topology) { topology_ = std::move(topology); }
  void set_on_lost(std::function<void()> on_lost) { lost_ = std::move(on_lost); }

  wait::WaitRegistry& registry() { return registry_; }

  void on_subscribed(const std::string& channel, TimePoint requested) override {
    const client::SendBatch sends;
    registry_.subscribed(channel, requested).run();
  }
  void on_caught_up(const std::string& channel, TimePoint requested) override {
    registry_.caught_up(channel, requested);
  }
  void on_message(const std::string& channel, std::string_view payload) override {
    const client::SendBatch sends;
    if (!is_grants(channel)) return registry_.message(channel, payload).run();
    const std::optional<wait::Grant> grant = wait::parse_grant(payload);
    if (!grant) return;
    wait::Calls calls = registry_.granted(lock_channel(channel), *grant);
    if (calls.empty()) stats_->add(Stats::Counter::kUnusedGrants);
    calls.run();
  }
  void on_refused(const std::string& channel, const Status& why) override {
    registry_.refused(channel, why).run();
  }
  void on_unreachable(const Status& why) override { registry_.unreachable(why).run(); }
  void on_unreachable(const std::set<std::string>& channels, const Status& why) override {
    for (const std::string& channel : channels) registry_.unreachable(channel, why).run();
  }
  bool on_released(const std::string& channel) override {
    if (is_grants(channel)) return !registry_.has_queue(lock_channel(channel));
    const bool released = registry_.released(channel);
    if (released && !suffix_.empty()) release(grants(channel), Duration::zero());
    return released;
  }
  bool has_waiters() const override { return registry_.has_waiters(); }
  void on_lost() override {
    if (lost_) lost_();
  }

  void subscribe(const std::string& channel) override {
    if (const auto topology = topology_.lock()) topology->subscribe(channel);
  }
  void subscribe_grants(const std::string& channel) override {
    if (!suffix_.empty()) subscribe(grants(channel));
  }
  void release(const std::string& channel, Duration linger) override {
    if (const auto topology = topology_.lock()) topology->release(channel, linger);
  }
  void expect(const std::string& channel) override {
    const auto topology = topology_.lock();
    const auto subscriber = topology ? topology->subscriber(channel) : nullptr;
    if (subscriber) subscriber->expect();
  }

 private:
  // Where releases of other clients publish what they grant to this one: the lock's channel with
  // the client's id.
  std::string grants(const std::string& lock_channel) const { return lock_channel + suffix_; }
  bool is_grants(const std::string& channel) const {
    if (suffix_.empty() || channel.size() <= suffix_.size()) return false;
    return channel.compare(channel.size() - suffix_.size(), suffix_.size(), suffix_) == 0;
  }
  std::string lock_channel(const std::string& grants) const {
    return grants.substr(0, grants.size() - suffix_.size());
  }

  const std::string suffix_;
  const std::shared_ptr<Stats> stats_;
  wait::WaitRegistry registry_;
  std::weak_ptr<topology::Topology> topology_;
  std::function<void()> lost_;
};

}  // namespace holdfast::engine
