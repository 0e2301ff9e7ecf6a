#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "locks/wait/wait_registry.h"
#include "redis/client.h"

namespace holdfast::engine {

// Connects the registry of waiters with the subscribers of a topology. Thread-safe once it is set
// up.
class WaitHub final : public client::Subscriber::Sink, public wait::Subscriptions {
 public:
  void set_up(std::weak_ptr<topology::Topology> topology, std::function<void()> on_lost) {
    topology_ = std::move(topology);
    lost_ = std::move(on_lost);
  }

  wait::WaitRegistry registry{*this};

  void on_subscribed(const std::string& channel, TimePoint requested, bool fresh) override {
    const client::SendBatch sends;
    registry.subscribed(channel, requested, fresh).run();
  }
  void on_message(const std::string& channel, std::string_view payload) override {
    const client::SendBatch sends;
    registry.message(channel, payload).run();
  }
  void on_refused(const std::string& channel, const Status& why) override {
    registry.refused(channel, why).run();
  }
  void on_unreachable(const std::set<std::string>& channels, const Status& why) override {
    for (const std::string& channel : channels) registry.unreachable(channel, why).run();
  }
  bool on_released(const std::string& channel) override { return registry.released(channel); }
  bool has_waiters(std::size_t besides) const override { return registry.has_waiters(besides); }
  void on_lost() override {
    if (lost_) lost_();
  }

  void subscribe(const std::string& channel) override {
    if (const auto topology = topology_.lock()) topology->subscribe(channel);
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
  std::weak_ptr<topology::Topology> topology_;
  std::function<void()> lost_;
};

}  // namespace holdfast::engine
