#include "redis/topology/cluster_node.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "redis/resp/reply.h"
#include "redis/topology/slots_query.h"

namespace holdfast::topology {

using client::Connection;
using client::InFlightRequest;
using client::Subscriber;

namespace {

// Requests stay queued while the server is out of reach: another one may take its place before the
// request's deadline.
Setup node_setup(Setup setup, const net::Address& address,
                 const std::shared_ptr<Subscriber::Sink>& listener) {
  setup.link.address = address;
  setup.link.retries = std::numeric_limits<int>::max();
  setup.sink = listener;
  return setup;
}

void complete(Connection::Setup& made, const std::weak_ptr<ClusterWatcher>& watcher,
              const Server& server, Traffic traffic) {
  const ServerNumber number = server.number;
  made.on_lost = [watcher, number] {
    if (const auto all = watcher.lock()) all->lost(number);
  };
  made.redirect = [watcher, server, traffic](const InFlightRequest& unanswered,
                                             std::string_view error) {
    const auto all = watcher.lock();
    return all && all->redirect(server, unanswered, traffic, error);
  };
  made.neighbours.mine = [watcher, number](const client::Request& request) {
    const auto all = watcher.lock();
    return all && all->owns(number, request.key());
  };
  made.neighbours.hand_over = [watcher, traffic](InFlightRequest unanswered, bool queued) {
    if (const auto all = watcher.lock()) {
      return all->take_over(std::move(unanswered), traffic, queued);
    }
    return Status::closed("the client was closed");
  };
  made.on_failed = [watcher, number] {
    if (const auto all = watcher.lock()) all->trouble(number);
  };
}

// Passes the events of one server's subscriber to the waiters.
class NodeListener final : public Subscriber::Sink {
 public:
  NodeListener(std::weak_ptr<Sink> sink, std::weak_ptr<ClusterWatcher> watcher, Server server)
      : sink_(std::move(sink)), watcher_(std::move(watcher)), server_(std::move(server)) {}

  void on_subscribed(const std::string& channel, TimePoint requested, bool fresh) override {
    if (const auto sink = sink_.lock()) sink->on_subscribed(channel, requested, fresh);
  }
  void on_message(const std::string& channel, std::string_view payload) override {
    if (const auto sink = sink_.lock()) sink->on_message(channel, payload);
  }
  void on_refused(const std::string& channel, const Status& why) override {
    const auto all = watcher_.lock();
    if (all) all->forget_channel(channel, all->subscriptions_made(channel));
    if (const auto sink = sink_.lock()) sink->on_refused(channel, why);
  }
  void on_unreachable(const std::set<std::string>& channels, const Status& why) override {
    if (const auto sink = sink_.lock()) sink->on_unreachable(channels, why);
  }
  bool on_redirected(const std::string& channel, std::string_view error) override {
    const auto all = watcher_.lock();
    return all && all->redirect_channel(server_, channel, error);
  }
  bool on_released(const std::string& channel) override {
    const auto all = watcher_.lock();
    const auto sink = sink_.lock();
    if (!all || !sink) return true;
    const std::uint64_t made = all->subscriptions_made(channel);
    if (!sink->on_released(channel)) return false;
    all->forget_channel(channel, made);
    return true;
  }
  bool has_waiters(std::size_t besides) const override {
    const auto sink = sink_.lock();
    return sink && sink->has_waiters(besides);
  }
  void on_lost() override {
    if (const auto all = watcher_.lock()) all->lost(server_.number);
  }
  void on_failed() override {
    if (const auto all = watcher_.lock()) all->trouble(server_.number);
  }

 private:
  const std::weak_ptr<Sink> sink_;
  const std::weak_ptr<ClusterWatcher> watcher_;
  const Server server_;
};

}  // namespace

ClusterNode::ClusterNode(const Clock& clock, const Loops& loops, Setup setup,
                         const std::weak_ptr<ClusterWatcher>& watcher, Server named)
    : server(std::move(named)),
      listener(std::make_shared<NodeListener>(setup.sink, watcher, server)),
      links(
          clock, loops, node_setup(std::move(setup), server.address, listener),
          [&](Connection::Setup& made, Traffic traffic) {
            complete(made, watcher, server, traffic);
          },
          // A server that redirects to its own address is not the one that others find there.
          [at = server.address](std::string_view error) {
            const Redirection to = redirection(error, at);
            const bool to_itself = to.kind == Redirection::Kind::kMoved && to.address == at;
            return to_itself || resp::says_readonly(error);
          }) {}

namespace {

bool contains(const std::vector<net::Address>& all, const net::Address& address) {
  return std::find(all.begin(), all.end(), address) != all.end();
}

void add_new(std::vector<net::Address>& all, const net::Address& address) {
  if (!contains(all, address)) all.push_back(address);
}

}  // namespace

ClusterNodes::ClusterNodes(const Clock& clock, const Loops& loops, Setup setup)
    : clock_(clock), loops_(loops), setup_(std::move(setup)) {}

void ClusterNodes::start(std::weak_ptr<ClusterWatcher> watcher) {
  watcher_ = std::move(watcher);
  nowhere_ = make({});
}

std::shared_ptr<ClusterNode> ClusterNodes::make(Server server) const {
  return std::make_shared<ClusterNode>(clock_, loops_, setup_, watcher_, std::move(server));
}

ClusterNode* ClusterNodes::find(ServerNumber number) const {
  const auto found = nodes_.find(number);
  return found == nodes_.end() ? nullptr : found->second.get();
}

ClusterNode& ClusterNodes::at(const net::Address& address) {
  for (const auto& [number, node] : nodes_) {
    if (node->server.address == address) return *node;
  }
  const auto fresh = make({++numbers_, address});
  fresh->links.subscriber()->set_mode(mode_);
  return *nodes_.emplace(numbers_, fresh).first->second;
}

std::vector<std::shared_ptr<ClusterNode>> ClusterNodes::all() const {
  std::vector<std::shared_ptr<ClusterNode>> all;
  for (const auto& [number, node] : nodes_) all.push_back(node);
  return all;
}

void ClusterNodes::keep(std::set<ServerNumber> primaries, std::vector<net::Address> replicas) {
  replicas_ = std::move(replicas);
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    const Server& server = it->second->server;
    const bool had_slots = primaries_.count(server.number) != 0;
    const bool demoted =
        primaries.count(server.number) == 0 && (had_slots || contains(replicas_, server.address));
    if (!demoted) {
      ++it;
      continue;
    }
    it->second->links.decommission();
    it = nodes_.erase(it);
  }
  primaries_ = std::move(primaries);
}

std::vector<net::Address> ClusterNodes::addresses() const {
  std::vector<net::Address> all;
  for (const auto& [number, node] : nodes_) add_new(all, node->server.address);
  for (const net::Address& replica : replicas_) add_new(all, replica);
  for (const net::Address& seed : setup_.endpoint.addresses) add_new(all, seed);
  return all;
}

}  // namespace holdfast::topology
