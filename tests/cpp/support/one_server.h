#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "locks/lease/keeper.h"
#include "locks/wait/wait_registry.h"
#include "redis/client/connection.h"
#include "redis/topology/topology.h"

namespace holdfast::simulation {

// All keys are on the server at the far end of one connection.
class OneServer final : public topology::Topology {
 public:
  explicit OneServer(std::shared_ptr<client::Connection> calls) : calls_(std::move(calls)) {}
  std::shared_ptr<client::Connection> route(std::string_view, topology::Traffic) override {
    return calls_;
  }
  void subscribe(const std::string&) override {}
  void release(const std::string&, Duration) override {}
  std::shared_ptr<client::Subscriber> subscriber(const std::string&) override { return messages; }
  std::string_view publish_command() const override { return "publish"; }
  std::string text() const override { return "the server"; }
  void close(const Status& why) override { calls_->close(why); }

  std::shared_ptr<client::Subscriber> messages;  // null: none come

 private:
  const std::shared_ptr<client::Connection> calls_;
};

class NoSubscriptions final : public wait::Subscriptions {
 public:
  void subscribe(const std::string&) override {}
  void release(const std::string&, Duration) override {}
  void expect(const std::string&) override {}
};

class NoEvents final : public EventSink {
 public:
  void post(Event) override {}
};

}  // namespace holdfast::simulation
