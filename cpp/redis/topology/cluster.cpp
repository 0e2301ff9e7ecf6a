#include "redis/topology/cluster.h"

#include <algorithm>
#include <utility>

#include "redis/base/mutex.h"
#include "redis/client/request.h"

namespace holdfast::topology {

using client::Connection;
using client::InFlightRequest;
using client::PubSub;
using client::RequestQueue;

namespace {

// A request that was redirected this many times pauses first.
constexpr int kMostTimes = 5;
// A channel that was moved is checked again: it may have been released in between.
constexpr Millis kLinger{100};

std::string text_of(const std::vector<net::Address>& seeds) {
  std::string text = "the cluster at ";
  for (const net::Address& seed : seeds) {
    if (&seed != &seeds.front()) text += ',';
    text += seed.text();
  }
  return text;
}

// A request that is redirected goes there, and with it what has to follow it.
bool follow(Connection& connection, const InFlightRequest& unanswered, Redirection::Kind kind) {
  const bool asking = kind == Redirection::Kind::kAsk;
  InFlightRequest there = unanswered;
  there.asking = asking;
  if (!connection.resubmit(std::move(there)).ok()) return false;
  const client::RequestPtr follow_up = asking ? unanswered.request->follow_up() : nullptr;
  if (follow_up) (void)connection.resubmit({follow_up});  // nothing is closed with the lock held
  return true;
}

void answer(RequestQueue::Deliveries& deliveries) {
  for (auto& [to, reply] : deliveries) to.request->complete(std::move(reply), to.sent);
}

}  // namespace

Cluster::Cluster(const Clock& clock, const Loops& loops, Setup setup)
    : clock_(clock),
      loops_(loops),
      setup_(std::move(setup)),
      text_(text_of(setup_.endpoint.addresses)),
      nodes_(clock, loops, setup_),
      refresh_(clock, loops.io, setup_.link) {
  if (setup_.pubsub) decide(*setup_.pubsub);
}

void Cluster::start() {
  const MutexLock guard(mutex_);
  nodes_.start(weak_from_this());
}

std::shared_ptr<Connection> Cluster::route(std::string_view key, Traffic traffic) {
  const ServerNumber primary = map_.primary(slot_of(key));
  const MutexLock guard(mutex_);
  const ClusterNode* found = nodes_.find(primary);
  return (found != nullptr ? found : nodes_.nowhere().get())->links.connection(traffic);
}

bool Cluster::owns(ServerNumber server, std::string_view key) const {
  return server != 0 && !key.empty() && map_.primary(slot_of(key)) == server;
}

Status Cluster::take_over(InFlightRequest unanswered, Traffic traffic, bool queued) {
  const client::RequestPtr request = unanswered.request;
  if (request->key().empty()) {  // it was for that server only
    request->complete(Status::unreachable("a server has left " + text() +
                                          ": a command for that server only was not sent again"),
                      unanswered.sent);
    return {};
  }
  const Slot slot = slot_of(request->key());
  const MutexLock guard(mutex_);
  if (!closed_.ok()) return closed_;
  unanswered.asking = false;
  // Queued requests go ahead of later ones.
  const ServerNumber target = queued ? map_.target(slot) : map_.primary(slot);
  if (const ClusterNode* found = nodes_.find(target)) {
    return found->links.connection(traffic)->resubmit(std::move(unanswered));
  }
  if (unanswered.barred()) return Status::revoked();
  unanswered.fresh = false;
  deferred_[traffic].add(std::move(unanswered));
  if (map_.target(slot) == 0) refresh_.want();
  loops_.io.drive(shared_from_this());
  return {};
}

bool Cluster::redirect(const Server& from, const InFlightRequest& unanswered, Traffic traffic,
                       std::string_view error) {
  using Kind = Redirection::Kind;
  const Redirection to = redirection(error, from.address);
  if (to.kind == Kind::kNone) return false;
  Deliveries deliveries;
  bool taken = false;
  {
    const MutexLock guard(mutex_);
    if (!closed_.ok()) return false;
    if (to.kind != Kind::kAsk) request_refresh();
    if (to.kind == Kind::kMoved) learn(to, from.number);
    const bool follows = to.kind != Kind::kStale && !unanswered.request->abandoned() &&
                         unanswered.sent.times < kMostTimes;
    if (follows) {
      taken = follow(*nodes_.at(to.address).links.connection(traffic), unanswered, to.kind);
    }
    release_deferred(deliveries);
  }
  answer(deliveries);
  return taken;
}

void Cluster::subscribe(const std::string& channel) {
  const MutexLock guard(mutex_);
  Listened& listened = channels_.try_emplace(channel, Listened{slot_of(channel)}).first->second;
  ++listened.subscriptions_made;
  if (const ClusterNode* at = nodes_.find(listened.at))
    return at->links.subscriber()->subscribe(channel);
  place(channel, listened);
  if (listened.at == 0) request_refresh();
}

void Cluster::release(const std::string& channel, Duration linger) {
  const MutexLock guard(mutex_);
  const auto found = channels_.find(channel);
  if (found == channels_.end()) return;
  if (const ClusterNode* at = nodes_.find(found->second.at))
    at->links.subscriber()->release(channel, linger);
}

std::shared_ptr<client::Subscriber> Cluster::subscriber(const std::string& channel) {
  const MutexLock guard(mutex_);
  const auto found = channels_.find(channel);
  const ClusterNode* at = found == channels_.end() ? nullptr : nodes_.find(found->second.at);
  return at == nullptr ? nullptr : at->links.subscriber();
}

bool Cluster::redirect_channel(const Server& from, const std::string& channel,
                               std::string_view error) {
  using Kind = Redirection::Kind;
  const Redirection to = redirection(error, from.address);
  if (!error.empty() && to.kind == Kind::kNone) return false;
  Deliveries deliveries;
  {
    const MutexLock guard(mutex_);
    if (!closed_.ok()) return false;
    request_refresh();
    const auto found = channels_.find(channel);
    if (found == channels_.end() || found->second.at != from.number) return true;
    found->second.at = 0;
    if (to.kind == Kind::kMoved) learn(to, from.number);
    // A server that has just ended a subscription is tried once more: it redirects the client.
    if (to.kind != Kind::kStale) place(channel, found->second);
    release_deferred(deliveries);
  }
  answer(deliveries);
  return true;
}

std::uint64_t Cluster::subscriptions_made(const std::string& channel) const {
  const MutexLock guard(mutex_);
  const auto found = channels_.find(channel);
  return found == channels_.end() ? 0 : found->second.subscriptions_made;
}

void Cluster::forget_channel(const std::string& channel, std::uint64_t subscriptions_made) {
  const MutexLock guard(mutex_);
  const auto found = channels_.find(channel);
  if (found != channels_.end() && found->second.subscriptions_made == subscriptions_made)
    channels_.erase(found);
}

void Cluster::place(const std::string& channel, Listened& listened) {
  const ServerNumber target = map_.target(listened.slot);
  if (target == 0 || target == listened.at) return;
  if (const ClusterNode* old = nodes_.find(listened.at)) old->links.subscriber()->drop(channel);
  const ClusterNode* fresh = nodes_.find(target);
  listened.at = fresh != nullptr ? target : 0;
  if (fresh == nullptr) return;
  fresh->links.subscriber()->subscribe(channel);
  fresh->links.subscriber()->release(channel, kLinger);
}

std::size_t Cluster::reauthenticate(const client::LoginPtr& login) {
  std::vector<std::shared_ptr<ClusterNode>> nodes;
  {
    const MutexLock guard(mutex_);
    nodes = nodes_.all();
  }
  std::size_t open = 0;
  for (const auto& node : nodes) open += node->links.reauthenticate(login);
  return open;
}

void Cluster::close(const Status& why) {
  Deliveries deliveries;
  std::vector<std::shared_ptr<ClusterNode>> nodes;
  SlotsRefresh::Queries queries;
  {
    const MutexLock guard(mutex_);
    closed_ = why;
    nodes = nodes_.all();
    nodes.push_back(nodes_.nowhere());
    queries = refresh_.take();
    for (auto& line : deferred_) line.fail(why, true, deliveries);
    loops_.io.drive(shared_from_this());
  }
  for (const auto& node : nodes) node->links.close(why);
  for (const auto& query : queries) query->close(why);
  answer(deliveries);
}

void Cluster::set_fences() {
  std::vector<SlotMap::Fence> fences = map_.take_fences();
  while (!fences.empty()) {
    for (const SlotMap::Fence& fence : fences) {
      const auto request = std::make_shared<client::PlainRequest>(
          resp::Command({"PING"}), resp::ReplyKind::kStatus,
          [weak = weak_from_this(), id = fence.id](const auto& /*reply*/, const auto& /*sent*/) {
            if (const auto cluster = weak.lock()) cluster->passed(id);
          });
      request->persistent = true;
      // Behind the requests that were sent there.
      const ClusterNode* at = nodes_.find(fence.at);
      const bool sent =
          at != nullptr && at->links.connection(Traffic::kCalls)->resubmit({request}).ok();
      if (!sent) map_.passed(fence.id);
    }
    fences = map_.take_fences();
  }
}

void Cluster::passed(std::uint64_t fence) {
  Deliveries deliveries;
  {
    const MutexLock guard(mutex_);
    if (!closed_.ok()) return;
    map_.passed(fence);
    set_fences();
    release_deferred(deliveries);
  }
  answer(deliveries);
}

bool Cluster::defers() const {
  return std::any_of(deferred_.begin(), deferred_.end(),
                     [](const RequestQueue& line) { return !line.empty(); });
}

void Cluster::release_deferred(Deliveries& deliveries) {
  for (const Traffic traffic : kAllTraffic) {
    if (deferred_[traffic].empty()) continue;
    RequestQueue waiting = std::exchange(deferred_[traffic], {});
    for (InFlightRequest& unanswered : waiting.take_all()) {
      const ClusterNode* at = nodes_.find(map_.primary(slot_of(unanswered.request->key())));
      if (at == nullptr) {
        deferred_[traffic].add(std::move(unanswered));
        continue;
      }
      InFlightRequest copy = unanswered;
      Status closed = at->links.connection(traffic)->resubmit(std::move(copy));
      if (!closed.ok()) deliveries.push_back({std::move(unanswered), std::move(closed)});
    }
  }
}

void Cluster::request_refresh() {
  refresh_.want();
  loops_.io.drive(shared_from_this());
}

void Cluster::lost(ServerNumber server) {
  trouble(server);
  if (setup_.on_lost) setup_.on_lost();
}

void Cluster::trouble(ServerNumber server) {
  const MutexLock guard(mutex_);
  if (!closed_.ok()) return;
  refresh_.want_after_trouble(clock_.now());
  loops_.io.drive(shared_from_this());
  ClusterNode* const found = nodes_.find(server);
  if (found != nullptr && map_.leaving(server)) found->links.review();
}

// A server redirects for a slot that it had. If the map has another server for the slot, that is
// more recent than this redirection.
void Cluster::learn(const Redirection& moved, ServerNumber from) {
  const ServerNumber target = map_.target(moved.slot);
  if (target != from && target != 0) return;
  if (!map_.assign(moved.slot, nodes_.at(moved.address).server.number)) return;
  set_fences();
  for (auto& [channel, listened] : channels_) {
    if (listened.slot == moved.slot) place(channel, listened);
  }
}

// True: the slots have changed.
bool Cluster::apply(const SlotsQuery::Report& report) {
  if (!decided_) decide(report.sharded ? PubSub::kSharded : PubSub::kClassic);
  bool changed = false;
  std::vector<net::Address> replicas;
  for (const SlotRange& range : report.ranges.value()) {
    const ServerNumber primary = nodes_.at(range.primary).server.number;
    for (unsigned slot = range.first; slot <= range.last; ++slot) {
      if (map_.assign(static_cast<Slot>(slot), primary)) changed = true;
    }
    replicas.insert(replicas.end(), range.replicas.begin(), range.replicas.end());
  }
  set_fences();
  nodes_.keep(map_.servers(), std::move(replicas));
  for (auto& [channel, listened] : channels_) place(channel, listened);
  return changed;
}

void Cluster::decide(PubSub mode) {
  decided_ = true;
  nodes_.set_mode(mode);
  publish_ = publish_command_of(mode);
}

net::Interest Cluster::step(TimePoint now) {
  Deliveries deliveries;
  SlotsRefresh::Queries fresh;
  net::Interest next;
  {
    const MutexLock guard(mutex_);
    next.done = !closed_.ok();
    if (next.done) return next;
    const Status& failure = refresh_.failure();
    const std::string why =
        failure.ok() ? text_ + " has no server for the slot" : failure.message();
    const Status late = Status::unreachable(why).caused_by(failure.cause());
    const bool refused = refresh_.refused();
    for (auto& line : deferred_) {
      line.drop_overdue(now, late, deliveries);
      if (refused) line.drop_connect_overdue(now, failure, deliveries);
    }
    if (refresh_.due(now)) refresh_.begin(nodes_.addresses());
    fresh = refresh_.next(now, [weak = weak_from_this()](auto round, const auto& report) {
      if (const auto cluster = weak.lock()) cluster->reported(round, report);
    });
    next.until = refresh_.until();
    for (const auto& line : deferred_) {
      next.until = std::min(next.until, line.next_overdue());
      if (refused) next.until = std::min(next.until, line.next_connect_deadline());
    }
    next.done = next.until == kNever && !defers();
  }
  for (const auto& query : fresh) query->start();
  answer(deliveries);
  return next;
}

void Cluster::reported(std::uint64_t round, const SlotsQuery::Report& report) {
  Deliveries deliveries;
  SlotsRefresh::Queries done;
  bool changed = false;
  {
    const MutexLock guard(mutex_);
    if (!closed_.ok() || !refresh_.awaits(round)) return;
    const TimePoint now = clock_.now();
    if (!report.ranges.ok()) {
      const bool of_round = refresh_.failed(report.ranges.status(), now);
      if (of_round && refresh_.hopeless()) {
        const Status& failure = refresh_.failure();
        const bool said = failure.code() == Code::kServer;
        for (auto& line : deferred_) line.fail(failure, said, deliveries);
      }
      if (of_round && !defers() && channels_.empty()) refresh_.stop();
    } else {
      changed = apply(report);
      release_deferred(deliveries);
      done = refresh_.answered(changed, defers(), now);
    }
    loops_.io.drive(shared_from_this());
  }
  for (const auto& query : done) query->close(Status::closed("another query finished first"));
  answer(deliveries);
  if (changed && setup_.on_lost) setup_.on_lost();
}

}  // namespace holdfast::topology
