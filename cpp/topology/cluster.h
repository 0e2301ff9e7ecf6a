#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "topology/cluster_node.h"
#include "topology/cluster_reply.h"
#include "topology/deferred_requests.h"
#include "topology/slot_map.h"
#include "topology/slots_query.h"

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
  using NodePtr = std::shared_ptr<ClusterNode>;
  using Deliveries = client::RequestQueue::Deliveries;
  struct Listened {
    Slot slot;
    ServerNumber at = 0;  // 0: nowhere
    std::uint64_t subscriptions_made = 0;
  };

  NodePtr make_node(Server server);

  // With the lock held.
  ClusterNode* node(ServerNumber number) const HOLDFAST_REQUIRES(mutex_);
  ClusterNode& node_at(const net::Address& address) HOLDFAST_REQUIRES(mutex_);
  void request_refresh() HOLDFAST_REQUIRES(mutex_);
  void learn(const Redirection& moved, ServerNumber from) HOLDFAST_REQUIRES(mutex_);
  static bool follow(client::Connection& connection, const client::InFlightRequest& unanswered,
                     Redirection::Kind kind);
  bool apply(const std::vector<SlotRange>& ranges) HOLDFAST_REQUIRES(mutex_);
  void decommission_nodes(const std::vector<SlotRange>& ranges) HOLDFAST_REQUIRES(mutex_);
  void set_fences() HOLDFAST_REQUIRES(mutex_);
  bool set_fence(const SlotMap::Fence& fence) HOLDFAST_REQUIRES(mutex_);
  void release_parked(Deliveries& deliveries) HOLDFAST_REQUIRES(mutex_);
  void place(const std::string& channel, Listened& listened) HOLDFAST_REQUIRES(mutex_);
  void place_channels() HOLDFAST_REQUIRES(mutex_);
  void decide(client::PubSub mode) HOLDFAST_REQUIRES(mutex_);
  std::vector<net::Address> candidates() const HOLDFAST_REQUIRES(mutex_);
  std::vector<std::shared_ptr<SlotsQuery>> send_scouts(TimePoint now) HOLDFAST_REQUIRES(mutex_);
  bool believe(const SlotsQuery::Report& report, Deliveries& deliveries) HOLDFAST_REQUIRES(mutex_);
  void doubt(const Status& why, Deliveries& deliveries) HOLDFAST_REQUIRES(mutex_);
  void give_up_hopeless(Deliveries& deliveries) HOLDFAST_REQUIRES(mutex_);

  // Without it.
  void passed(std::uint64_t fence) HOLDFAST_EXCLUDES(mutex_);
  void reported(std::uint64_t round, const SlotsQuery::Report& report) HOLDFAST_EXCLUDES(mutex_);
  static void answer(Deliveries& deliveries);

  const Clock& clock_;
  const Loops loops_;
  const Setup setup_;
  const std::string text_;
  std::atomic<const char*> publish_{"publish"};
  SlotMap map_;      // except for owner(), guarded by mutex_
  NodePtr nowhere_;  // for keys whose server is unknown

  mutable Mutex mutex_;
  std::optional<client::PubSub> mode_ HOLDFAST_GUARDED_BY(mutex_);
  ServerNumber numbers_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::set<ServerNumber> owners_ HOLDFAST_GUARDED_BY(mutex_);  // of slots, by the last query
  std::unordered_map<ServerNumber, NodePtr> nodes_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<net::Address> replicas_ HOLDFAST_GUARDED_BY(mutex_);
  DeferredRequests deferred_ HOLDFAST_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Listened> channels_ HOLDFAST_GUARDED_BY(mutex_);
  TopologyRefresh refresh_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t round_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::vector<net::Address> queried_ HOLDFAST_GUARDED_BY(mutex_);  // servers queried in this round
  std::vector<std::shared_ptr<SlotsQuery>> queries_ HOLDFAST_GUARDED_BY(mutex_);
  Status failure_ HOLDFAST_GUARDED_BY(mutex_);  // the last failure since a query succeeded
  std::uint64_t failed_in_ HOLDFAST_GUARDED_BY(mutex_) = 0;  // the round of failure_
  TimePoint troubled_until_ HOLDFAST_GUARDED_BY(mutex_){};
  Status closed_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::topology
