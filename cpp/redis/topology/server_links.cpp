#include "redis/topology/server_links.h"

#include <algorithm>
#include <utility>

#include "redis/resp/error_reply.h"

namespace holdfast::topology {

using client::Connection;

namespace {

// The servers are asked to track on the connection for renewals alone; where they must, the one for
// calls shows that they would.
client::TrackingMode tracking_of(client::TrackingMode mode, Traffic traffic) {
  using Mode = client::TrackingMode;
  if (traffic == Traffic::kRenewals && mode != Mode::kOff) return Mode::kTried;
  const bool shows = traffic == Traffic::kCalls && mode == Mode::kRequired;
  return shows ? Mode::kRequired : Mode::kOff;
}

std::shared_ptr<Connection> connect(const Clock& clock, const Loops& loops, Connection::Setup setup,
                                    Traffic traffic) {
  net::Loop& loop = traffic == Traffic::kRenewals ? loops.renewals : loops.io;
  return std::make_shared<Connection>(clock, loop, std::move(setup));
}

Connection::Setup connection_setup(const Setup& setup, Traffic traffic) {
  const bool calls = traffic == Traffic::kCalls;
  const bool holds = traffic != Traffic::kConfirmations;
  Connection::Setup made{setup.link, calls ? setup.driver : Connection::Driver::kLoop,
                         holds ? setup.on_lost : nullptr};
  made.link.tracking = tracking_of(setup.tracking, traffic);
  made.on_changes = setup.on_changes;
  if (setup.witness && calls) made.link.witness = setup.witness();
  if (!calls) made.link.label = {};
  if (traffic == Traffic::kRenewals) {
    made.link.command_timeout = std::min(made.link.command_timeout, setup.renewal_timeout);
  }
  return made;
}

// Only that for calls makes the key of a client's label, as it removes it.
client::StreamOptions subscriber_link(client::StreamOptions link) {
  link.label = {};
  return link;
}

// The sentinels say where the primary of a service is.
std::shared_ptr<Replacement> replacement_of(const Clock& clock, const Loops& loops,
                                            const client::StreamOptions& link,
                                            Replacement::IsSign is_sign) {
  if (!link.service.empty()) return nullptr;
  if (!is_sign) is_sign = resp::says_readonly;
  return std::make_shared<Replacement>(clock, loops.io, link, std::move(is_sign));
}

client::StreamOptions with_signs(client::StreamOptions link,
                                 std::shared_ptr<client::StaleSigns> signs) {
  link.signs = std::move(signs);
  return link;
}

}  // namespace

ServerLinks::ServerLinks(const Clock& clock, const Loops& loops, const Setup& setup,
                         const Complete& complete, Replacement::IsSign is_sign)
    : all_(std::make_shared<All>(
          All{replacement_of(clock, loops, setup.link, std::move(is_sign))})) {
  all_->subscriber = std::make_shared<client::Subscriber>(
      clock, loops.io, with_signs(subscriber_link(setup.link), all_->replacement), setup.sink);
  for (const Traffic traffic : kAllTraffic) {
    Connection::Setup made = connection_setup(setup, traffic);
    made.link.signs = all_->replacement;
    if (complete) complete(made, traffic);
    if (traffic == Traffic::kRenewals) all_->verify = made.on_lost;
    all_->connections[traffic] = connect(clock, loops, std::move(made), traffic);
  }
  if (all_->replacement) begin_to_look(setup.link.address);
}

void ServerLinks::begin_to_look(const net::Address& address) const {
  const std::weak_ptr<const All> weak = all_;
  const auto replace = [weak, address] {
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
