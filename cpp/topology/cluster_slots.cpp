// How a client learns the slots of its cluster, and when it queries them.

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "topology/cluster.h"

namespace holdfast::topology {

using client::PubSub;

namespace {

// A server that is out of reach is tried again within a second or so: its trouble lasts at least
// that long.
constexpr Millis kTroubleLasts{1500};

void add_new(std::vector<net::Address>& all, const net::Address& address) {
  const auto is_it = [&](const net::Address& known) { return known == address; };
  if (std::none_of(all.begin(), all.end(), is_it)) all.push_back(address);
}

}  // namespace

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
  if (found != nullptr && map_.leaving(server)) found->review();
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
    it->second->decommission();
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
    deferred_.drop_overdue(now, Status::unreachable(why).caused_by(failure_.cause()), deliveries);
    const bool refused = failure_.reach() == Reach::kRefused && !refresh_.querying();
    if (refused) deferred_.drop_connect_overdue(now, failure_, deliveries);
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
    deferred_.fail(failure_, refused, deliveries);
  }
  if (deferred_.empty() && channels_.empty()) refresh_.stop();
}

}  // namespace holdfast::topology
