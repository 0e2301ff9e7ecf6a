#include "redis/topology/server_links.h"

#include <algorithm>
#include <utility>

#include "redis/resp/reply.h"

namespace holdfast::topology {

using client::Connection;

namespace {

Connection::Setup connection_setup(const Setup& setup, Traffic traffic) {
  const bool calls = traffic == Traffic::kCalls;
  const bool holds = traffic != Traffic::kConfirmations;
  Connection::Setup made{setup.link, calls ? setup.driver : Connection::Driver::kLoop,
                         holds ? setup.on_lost : nullptr};
  // The servers are asked to track on the connection for renewals alone; where they must, the one
  // for calls shows that they would.
  using Tracking = client::TrackingMode;
  made.link.tracking = Tracking::kOff;
  if (calls && setup.tracking == Tracking::kRequired) made.link.tracking = Tracking::kRequired;
  made.on_changes = setup.on_changes;
  if (setup.witness && calls) made.link.witness = setup.witness();
  if (!calls) made.link.label = {};
  if (traffic == Traffic::kRenewals) {
    if (setup.tracking != Tracking::kOff) made.link.tracking = Tracking::kTried;
    made.link.command_timeout = std::min(made.link.command_timeout, setup.renewal_timeout);
  }
  return made;
}

}  // namespace

ServerLinks::ServerLinks(const Clock& clock, const Loops& loops, const Setup& setup,
                         const Complete& complete, Replacement::IsSign is_sign)
    : all_(std::make_shared<All>()) {
  // The sentinels say where the primary of a service is.
  if (setup.link.service.empty()) {
    if (!is_sign) is_sign = resp::says_readonly;
    all_->replacement =
        std::make_shared<Replacement>(clock, loops.io, setup.link, std::move(is_sign));
  }
  client::StreamOptions link = setup.link;
  link.label = {};  // only that for calls makes the key of a client's label, as it removes it
  link.signs = all_->replacement;
  all_->subscriber =
      std::make_shared<client::Subscriber>(clock, loops.io, std::move(link), setup.sink);
  for (const Traffic traffic : kAllTraffic) {
    Connection::Setup made = connection_setup(setup, traffic);
    made.link.signs = all_->replacement;
    if (complete) complete(made, traffic);
    if (traffic == Traffic::kRenewals) all_->verify = made.on_lost;
    net::Loop& loop = traffic == Traffic::kRenewals ? loops.renewals : loops.io;
    all_->connections[traffic] = std::make_shared<Connection>(clock, loop, std::move(made));
  }
  if (!all_->replacement) return;
  const std::weak_ptr<const All> weak = all_;
  const auto replace = [weak, address = setup.link.address] {
    if (const auto all = weak.lock()) all->move(address);
  };
  const auto stay = [weak] {
    const auto all = weak.lock();
    if (!all) return;
    for (const auto& connection : all->connections) connection->look_again();
  };
  all_->replacement->start({replace, stay});
}

void ServerLinks::All::move(const Result<net::Address>& to) const {
  connections[Traffic::kRenewals]->move(to);
  if (verify) verify();
  connections[Traffic::kCalls]->move(to);
  connections[Traffic::kConfirmations]->move(to);
  subscriber->move(to);
}

void ServerLinks::move(const Result<net::Address>& to) const { all_->move(to); }

void ServerLinks::review() const {
  for (const auto& connection : all_->connections) connection->review();
}

std::size_t ServerLinks::reauthenticate(const client::LoginPtr& login) const {
  std::size_t open = all_->subscriber->reauthenticate(login) ? 1 : 0;
  for (const auto& connection : all_->connections) {
    if (connection->reauthenticate(login)) ++open;
  }
  return open;
}

void ServerLinks::decommission() const {
  for (const auto& connection : all_->connections) connection->decommission();
  all_->subscriber->close();
  if (all_->replacement) all_->replacement->close();
}

void ServerLinks::close(const Status& why) const {
  for (const auto& connection : all_->connections) connection->close(why);
  all_->subscriber->close();
  if (all_->replacement) all_->replacement->close();
}

}  // namespace holdfast::topology
