#include "topology/cluster_node.h"

#include <limits>
#include <set>
#include <utility>

namespace holdfast::topology {

using client::Connection;
using client::InFlightRequest;
using client::Subscriber;

namespace {

// Requests stay queued while the server is out of reach: another one may take its place before the
// request's deadline.
client::StreamOptions link_to(client::StreamOptions link, const net::Address& address) {
  link.address = address;
  link.retries = std::numeric_limits<int>::max();
  return link;
}

Connection::Setup connection_setup(const ClusterNode::Setup& setup, const Server& server,
                                   Traffic traffic) {
  const auto calls_driver = traffic == Traffic::kCalls ? setup.driver : Connection::Driver::kLoop;
  const std::weak_ptr<ClusterWatcher> watcher = setup.watcher;
  const ServerNumber number = server.number;
  const client::StreamOptions link = link_to(setup.link, server.address);
  Connection::Setup made{with_tracking(link, traffic, setup.tracking), calls_driver,
                         [watcher, number] {
                           if (const auto all = watcher.lock()) all->lost(number);
                         }};
  made.on_changes = setup.on_changes;
  if (setup.witness && traffic == Traffic::kCalls) made.link.witness = setup.witness();
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
    const auto all = watcher.lock();
    return all ? all->take_over(std::move(unanswered), traffic, queued)
               : Status::closed("the client was closed");
  };
  made.on_failed = [watcher, number] {
    if (const auto all = watcher.lock()) all->trouble(number);
  };
  return made;
}

}  // namespace

// Passes the events of one server's subscriber to the waiters.
class ClusterNode::NodeListener final : public Subscriber::Sink {
 public:
  NodeListener(std::weak_ptr<Sink> sink, std::weak_ptr<ClusterWatcher> watcher, Server server)
      : sink_(std::move(sink)), watcher_(std::move(watcher)), server_(std::move(server)) {}

  void on_subscribed(const std::string& channel, TimePoint requested) override {
    if (const auto sink = sink_.lock()) sink->on_subscribed(channel, requested);
  }
  void on_caught_up(const std::string& channel, TimePoint requested) override {
    if (const auto sink = sink_.lock()) sink->on_caught_up(channel, requested);
  }
  void on_message(const std::string& channel, std::string_view payload) override {
    if (const auto sink = sink_.lock()) sink->on_message(channel, payload);
  }
  void on_refused(const std::string& channel, const Status& why) override {
    const auto all = watcher_.lock();
    if (all) all->forget_channel(channel, all->subscriptions_made(channel));
    if (const auto sink = sink_.lock()) sink->on_refused(channel, why);
  }
  void on_unreachable(const Status& /*why*/) override {
  }  // would concern other servers' waiters, too
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
  bool has_waiters() const override {
    const auto sink = sink_.lock();
    return sink && sink->has_waiters();
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

ClusterNode::ClusterNode(const Clock& clock, const Loops& loops, const Setup& setup, Server server)
    : server_(std::move(server)),
      listener_(std::make_shared<NodeListener>(setup.sink, setup.watcher, server_)),
      subscriber_(std::make_shared<Subscriber>(clock, loops.io,
                                               link_to(setup.link, server_.address), listener_)) {
  for (const Traffic traffic : kAllTraffic) {
    connections_[traffic] = connect(clock, loops, setup, {server_, traffic});
  }
}

void ClusterNode::review() {
  for (const auto& connection : connections_) connection->review();
}

std::size_t ClusterNode::reauthenticate(const client::LoginPtr& login) {
  std::size_t open = subscriber_->reauthenticate(login) ? 1 : 0;
  for (const auto& connection : connections_) {
    if (connection->reauthenticate(login)) ++open;
  }
  return open;
}

void ClusterNode::decommission() {
  for (const auto& connection : connections_) connection->decommission();
  subscriber_->close();
}

void ClusterNode::close(const Status& why) {
  for (const auto& connection : connections_) connection->close(why);
  subscriber_->close();
}

std::shared_ptr<Connection> ClusterNode::connect(const Clock& clock, const Loops& loops,
                                                 const Setup& setup, const Way& way) {
  net::Loop& loop = way.traffic == Traffic::kRenewals ? loops.watchdog : loops.io;
  return std::make_shared<Connection>(clock, loop,
                                      connection_setup(setup, way.server, way.traffic));
}

}  // namespace holdfast::topology
