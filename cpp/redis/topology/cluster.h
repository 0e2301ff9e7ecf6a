#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "redis/base/mutex.h"
#include "redis/client/request_queue.h"
#include "redis/topology/cluster_node.h"
#include "redis/topology/slot_map.h"
#include "redis/topology/slots_query.h"
#include "redis/topology/topology.h"

namespace holdfast::topology {

// A Redis or Valkey cluster. The slots are queried at first use and after failures, and learnt from
// redirections; a healthy cluster is not queried again. Requests for one slot keep their order,
// also when the slot moves (SlotMap).
class Cluster final : public Topology,
                      public ClusterWatcher,
                      public net::Pollable,
                      public std::enable_shared_from_this<Cluster> {
 public:
  // To be made as a shared_ptr; then start() once.
  Cluster(const Clock& clock, const Loops& loops, Setup setup);
  void start();

  std::shared_ptr<client::Connection> route(std::string_view key, Traffic traffic) override;
  std::optional<Slot> slot(std::string_view key) const override { return slot_of(key); }
  void subscribe(const std::string& channel) override;
  void release(const std::string& channel, Duration linger) override;
  std::shared_ptr<client::Subscriber> subscriber(const std::string& channel) override;
  std::string_view publish_command() const override { return publish_.load(); }
  std::string text() const override { return text_; }
  std::size_t reauthenticate(const client::LoginPtr& login) override;
  void close(const Status& why) override;

  bool owns(ServerNumber server, std::string_view key) const override;
  Status take_over(client::InFlightRequest unanswered, Traffic traffic, bool queued) override;
  bool redirect(const Server& from, const client::InFlightRequest& unanswered, Traffic traffic,
                std::string_view error) override;
  bool redirect_channel(const Server& from, const std::string& channel,
                        std::string_view error) override;
  std::uint64_t subscriptions_made(const std::string& channel) const override;
  void forget_channel(const std::string& channel, std::uint64_t subscriptions_made) override;
  void lost(ServerNumber server) override;
  void trouble(ServerNumber server) override;

  net::Interest step(TimePoint now) override;

 private:
  using Deliveries = client::RequestQueue::Deliveries;
  struct Listened {
    Slot slot;
    ServerNumber at = 0;  // 0: nowhere
    std::uint64_t subscriptions_made = 0;
  };

  // With the lock held.
  void request_refresh() HOLDFAST_REQUIRES(mutex_);
  void learn(const Redirection& moved, ServerNumber from) HOLDFAST_REQUIRES(mutex_);
  bool apply(const SlotsQuery::Report& report) HOLDFAST_REQUIRES(mutex_);
  void set_fences() HOLDFAST_REQUIRES(mutex_);
  bool defers() const HOLDFAST_REQUIRES(mutex_);
  // Sends the deferred requests that have a server by now. Those that a closed connection refuses
  // are answered.
  void release_deferred(Deliveries& deliveries) HOLDFAST_REQUIRES(mutex_);
  void place(const std::string& channel, Listened& listened) HOLDFAST_REQUIRES(mutex_);
  void decide(client::PubSub mode) HOLDFAST_REQUIRES(mutex_);

  // Without it.
  void passed(std::uint64_t fence) HOLDFAST_EXCLUDES(mutex_);
  void reported(std::uint64_t round, const SlotsQuery::Report& report) HOLDFAST_EXCLUDES(mutex_);

  const Clock& clock_;
  const Loops loops_;
  const Setup setup_;
  const std::string text_;
  std::atomic<const char*> publish_{"publish"};
  SlotMap map_;  // except for primary(), guarded by mutex_

  mutable Mutex mutex_;
  bool decided_ HOLDFAST_GUARDED_BY(mutex_) = false;  // how messages are published
  ClusterNodes nodes_ HOLDFAST_GUARDED_BY(mutex_);
  // Requests without a server at the moment, in the order of their arrival.
  PerTraffic<client::RequestQueue> deferred_ HOLDFAST_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Listened> channels_ HOLDFAST_GUARDED_BY(mutex_);
  SlotsRefresh refresh_ HOLDFAST_GUARDED_BY(mutex_);
  Status closed_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::topology
