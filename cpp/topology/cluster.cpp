#include "topology/cluster.h"

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "client/plain_request.h"

namespace holdfast::topology {

using client::Connection;
using client::InFlightRequest;
using client::PubSub;

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

// A server that is out of reach is tried again within a second or so: its trouble lasts at least
// that long.
constexpr Millis kTroubleLasts{1500};

void add_new(std::vector<net::Address>& all, const net::Address& address) {
  const auto is_it = [&](const net::Address& known) { return known == address; };
  if (std::none_of(all.begin(), all.end(), is_it)) all.push_back(address);
}

}  // namespace

Cluster::Cluster(const Clock& clock, const Loops& loops, Setup setup)
    : clock_(clock),
      loops_(loops),
      setup_(std::move(setup)),
      text_(text_of(setup_.endpoint.addresses)) {
  if (setup_.pubsub) decide(*setup_.pubsub);
}

void Cluster::start() { nowhere_ = make_node({}); }

Cluster::NodePtr Cluster::make_node(Server server) {
  return std::make_shared<ClusterNode>(clock_, loops_, setup_, weak_from_this(), std::move(server));
}

std::shared_ptr<Connection> Cluster::route(std::string_view key, Traffic traffic) {
  const ServerNumber owner = map_.owner(slot_of(key));
  const MutexLock guard(mutex_);
  const ClusterNode* found = node(owner);
  return (found != nullptr ? found : nowhere_.get())->links().connection(traffic);
}

bool Cluster::owns(ServerNumber server, std::string_view key) const {
  return server != 0 && !key.empty() && map_.owner(slot_of(key)) == server;
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
  const ServerNumber target = queued ? map_.target(slot) : map_.owner(slot);
  if (const ClusterNode* found = node(target)) {
    return found->links().connection(traffic)->resubmit(std::move(unanswered));
  }
  if (unanswered.barred()) return Status::revoked();
  unanswered.fresh = false;
  deferred_.line(traffic).add(std::move(unanswered));
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
      taken = follow(*node_at(to.address).links().connection(traffic), unanswered, to.kind);
    }
    release_parked(deliveries);
  }
  answer(deliveries);
  return taken;
}

bool Cluster::follow(Connection& connection, const InFlightRequest& unanswered,
                     Redirection::Kind kind) {
  const bool asking = kind == Redirection::Kind::kAsk;
  InFlightRequest there = unanswered;
  there.asking = asking;
  if (!connection.resubmit(std::move(there)).ok()) return false;
  const client::RequestPtr follow_up = asking ? unanswered.request->follow_up() : nullptr;
  if (follow_up) (void)connection.resubmit({follow_up});  // nothing is closed with the lock held
  return true;
}

void Cluster::subscribe(const std::string& channel) {
  const MutexLock guard(mutex_);
  Listened& listened = channels_.try_emplace(channel, Listened{slot_of(channel)}).first->second;
  ++listened.subscriptions_made;
  if (const ClusterNode* at = node(listened.at))
    return at->links().subscriber()->subscribe(channel);
  place(channel, listened);
  if (listened.at == 0) request_refresh();
}

void Cluster::release(const std::string& channel, Duration linger) {
  const MutexLock guard(mutex_);
  const auto found = channels_.find(channel);
  if (found == channels_.end()) return;
  if (const ClusterNode* at = node(found->second.at))
    at->links().subscriber()->release(channel, linger);
}

std::shared_ptr<client::Subscriber> Cluster::subscriber(const std::string& channel) {
  const MutexLock guard(mutex_);
  const auto found = channels_.find(channel);
  const ClusterNode* at = found == channels_.end() ? nullptr : node(found->second.at);
  return at == nullptr ? nullptr : at->links().subscriber();
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
    release_parked(deliveries);
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
  if (const ClusterNode* old = node(listened.at)) old->links().subscriber()->drop(channel);
  const ClusterNode* fresh = node(target);
  listened.at = fresh != nullptr ? target : 0;
  if (fresh == nullptr) return;
  fresh->links().subscriber()->subscribe(channel);
  fresh->links().subscriber()->release(channel, kLinger);
}

void Cluster::place_channels() {
  for (auto& [channel, listened] : channels_) place(channel, listened);
}

std::size_t Cluster::reauthenticate(const client::LoginPtr& login) {
  std::vector<NodePtr> nodes;
  {
    const MutexLock guard(mutex_);
    for (const auto& [number, node] : nodes_) nodes.push_back(node);
  }
  std::size_t open = 0;
  for (const NodePtr& node : nodes) open += node->links().reauthenticate(login);
  return open;
}

void Cluster::close(const Status& why) {
  Deliveries deliveries;
  std::vector<NodePtr> nodes;
  std::vector<std::shared_ptr<SlotsQuery>> scouts;
  {
    const MutexLock guard(mutex_);
    closed_ = why;
    for (const auto& [number, node] : nodes_) nodes.push_back(node);
    scouts.swap(queries_);
    for (auto& line : deferred_) line.fail(why, true, deliveries);
    loops_.io.drive(shared_from_this());
  }
  for (const NodePtr& node : nodes) node->links().close(why);
  nowhere_->links().close(why);
  for (const auto& query : scouts) query->close(why);
  answer(deliveries);
}

ClusterNode* Cluster::node(ServerNumber number) const {
  const auto found = nodes_.find(number);
  return found == nodes_.end() ? nullptr : found->second.get();
}

ClusterNode& Cluster::node_at(const net::Address& address) {
  for (const auto& [number, node] : nodes_) {
    if (node->server().address == address) return *node;
  }
  const auto fresh = make_node({++numbers_, address});
  fresh->links().subscriber()->set_mode(mode_.value_or(client::PubSub::kClassic));
  return *nodes_.emplace(numbers_, fresh).first->second;
}

// Queued at a slot's old server, behind the requests that were sent there.
bool Cluster::set_fence(const SlotMap::Fence& fence) {
  const ClusterNode* at = node(fence.at);
  if (at == nullptr) return false;
  const auto request = std::make_shared<client::PlainRequest>(
      resp::Command({"PING"}), resp::ReplyKind::kStatus,
      [weak = weak_from_this(), id = fence.id](const auto& /*reply*/, const auto& /*sent*/) {
        if (const auto cluster = weak.lock()) cluster->passed(id);
      });
  request->persistent = true;
  return at->links().connection(Traffic::kCalls)->resubmit({request}).ok();
}

void Cluster::set_fences() {
  std::vector<SlotMap::Fence> fences = map_.take_fences();
  while (!fences.empty()) {
    for (const SlotMap::Fence& fence : fences) {
      if (!set_fence(fence)) map_.passed(fence.id);
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
    release_parked(deliveries);
  }
  answer(deliveries);
}

void Cluster::release_parked(Deliveries& deliveries) {
  if (deferred_.empty()) return;
  deferred_.release(
      [this](const client::Request& request, Traffic traffic)
          HOLDFAST_REQUIRES(mutex_) -> std::shared_ptr<Connection> {
            const ClusterNode* found = node(map_.owner(slot_of(request.key())));
            return found != nullptr ? found->links().connection(traffic) : nullptr;
          },
      deliveries);
}

void Cluster::answer(Deliveries& deliveries) {
  for (auto& [to, reply] : deliveries) to.request->complete(std::move(reply), to.sent);
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
  troubled_until_ = after(clock_.now(), kTroubleLasts);
  request_refresh();
  ClusterNode* const found = node(server);
  if (found != nullptr && map_.leaving(server)) found->links().review();
}

// A server redirects for a slot that it had. If the map has another server for the slot, that is
// more recent than this redirection.
void Cluster::learn(const Redirection& moved, ServerNumber from) {
  const ServerNumber target = map_.target(moved.slot);
  if (target != from && target != 0) return;
  if (!map_.assign(moved.slot, node_at(moved.address).server().number)) return;
  set_fences();
  for (auto& [channel, listened] : channels_) {
    if (listened.slot == moved.slot) place(channel, listened);
  }
}

bool Cluster::apply(const std::vector<SlotRange>& ranges) {
  bool changed = false;
  for (const SlotRange& range : ranges) {
    const ServerNumber primary = node_at(range.primary).server().number;
    for (unsigned slot = range.first; slot <= range.last; ++slot) {
      if (map_.assign(static_cast<Slot>(slot), primary)) changed = true;
    }
  }
  set_fences();
  decommission_nodes(ranges);
  place_channels();
  return changed;
}

// A server that never had slots stays: it may be about to get some.
void Cluster::decommission_nodes(const std::vector<SlotRange>& ranges) {
  replicas_.clear();
  for (const SlotRange& range : ranges) {
    for (const net::Address& replica : range.replicas) add_new(replicas_, replica);
  }
  const std::set<ServerNumber> owners = map_.servers();
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    const Server& server = it->second->server();
    const bool demoted = owners_.count(server.number) != 0 ||
                         std::any_of(replicas_.begin(), replicas_.end(), [&](const auto& replica) {
                           return replica == server.address;
                         });
    if (owners.count(server.number) != 0 || !demoted) {
      ++it;
      continue;
    }
    it->second->links().decommission();
    it = nodes_.erase(it);
  }
  owners_ = owners;
}

void Cluster::decide(PubSub mode) {
  mode_ = mode;
  publish_ = publish_command_of(mode);
}

// Each round begins with another server.
std::vector<net::Address> Cluster::candidates() const {
  std::vector<net::Address> all;
  for (const auto& [number, node] : nodes_) add_new(all, node->server().address);
  for (const net::Address& replica : replicas_) add_new(all, replica);
  for (const net::Address& seed : setup_.endpoint.addresses) add_new(all, seed);
  const auto first = static_cast<std::ptrdiff_t>(round_ % all.size());
  std::rotate(all.begin(), all.begin() + first, all.end());
  return all;
}

std::vector<std::shared_ptr<SlotsQuery>> Cluster::send_scouts(TimePoint now) {
  if (refresh_.due(now)) {
    queried_ = candidates();
    refresh_.begin(queried_.size());
    ++round_;
    queries_.clear();
  }
  std::vector<std::shared_ptr<SlotsQuery>> fresh;
  while (const auto candidate = refresh_.next(now)) {
    client::StreamOptions link = setup_.link;
    link.address = queried_[*candidate];
    const auto on_report = [weak = weak_from_this(),
                            round = round_](const SlotsQuery::Report& report) {
      if (const auto cluster = weak.lock()) cluster->reported(round, report);
    };
    fresh.push_back(std::make_shared<SlotsQuery>(clock_, loops_.io, link, on_report));
    queries_.push_back(fresh.back());
  }
  return fresh;
}

net::Interest Cluster::step(TimePoint now) {
  Deliveries deliveries;
  std::vector<std::shared_ptr<SlotsQuery>> fresh;
  net::Interest next;
  {
    const MutexLock guard(mutex_);
    next.done = !closed_.ok();
    if (next.done) return next;
    const std::string why =
        failure_.ok() ? text_ + " has no server for the slot" : failure_.message();
    const Status late = Status::unreachable(why).caused_by(failure_.cause());
    const bool refused = failure_.reach() == Reach::kRefused && !refresh_.querying();
    for (auto& line : deferred_) {
      line.drop_overdue(now, late, deliveries);
      if (refused) line.drop_connect_overdue(now, failure_, deliveries);
    }
    fresh = send_scouts(now);
    next.until = std::min(refresh_.until(), deferred_.next_overdue());
    if (refused) next.until = std::min(next.until, deferred_.next_connect_deadline());
    next.done = next.until == kNever && deferred_.empty();
  }
  for (const auto& query : fresh) query->start();
  answer(deliveries);
  return next;
}

void Cluster::reported(std::uint64_t round, const SlotsQuery::Report& report) {
  Deliveries deliveries;
  std::vector<std::shared_ptr<SlotsQuery>> done;
  bool changed = false;
  {
    const MutexLock guard(mutex_);
    if (!closed_.ok() || round != round_ || !refresh_.querying()) return;
    if (report.ranges.ok()) {
      changed = believe(report, deliveries);
      done.swap(queries_);
    } else {
      doubt(report.ranges.status(), deliveries);
    }
    loops_.io.drive(shared_from_this());
  }
  for (const auto& query : done) query->close(Status::closed("another query finished first"));
  answer(deliveries);
  if (changed && setup_.on_lost) setup_.on_lost();
}

bool Cluster::believe(const SlotsQuery::Report& report, Deliveries& deliveries) {
  const TimePoint now = clock_.now();
  if (!mode_) decide(report.sharded ? PubSub::kSharded : PubSub::kClassic);
  const bool changed = apply(report.ranges.value());
  release_parked(deliveries);
  refresh_.answered(changed, now);
  failure_ = {};
  if (now < troubled_until_ || !deferred_.empty()) refresh_.want();
  return changed;
}

void Cluster::doubt(const Status& why, Deliveries& deliveries) {
  const bool refused = failed_in_ == round_ && failure_.code() == Code::kServer;
  if (!refused) failure_ = why;
  failed_in_ = round_;
  refresh_.failed(clock_.now());
  if (!refresh_.querying()) give_up_hopeless(deliveries);
}

// A round has failed.
void Cluster::give_up_hopeless(Deliveries& deliveries) {
  const bool refused = failure_.code() == Code::kServer;
  if (refused || refresh_.failed_rounds() > setup_.link.retries) {
    for (auto& line : deferred_) line.fail(failure_, refused, deliveries);
  }
  if (deferred_.empty() && channels_.empty()) refresh_.stop();
}

}  // namespace holdfast::topology
