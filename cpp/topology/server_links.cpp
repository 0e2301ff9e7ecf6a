#include "topology/server_links.h"

#include <algorithm>
#include <utility>

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
  net::Loop& loop = traffic == Traffic::kRenewals ? loops.watchdog : loops.io;
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

}  // namespace

ServerLinks::ServerLinks(const Clock& clock, const Loops& loops, const Setup& setup,
                         const Complete& complete)
    : subscriber_(std::make_shared<client::Subscriber>(clock, loops.io, subscriber_link(setup.link),
                                                       setup.sink)) {
  for (const Traffic traffic : kAllTraffic) {
    Connection::Setup made = connection_setup(setup, traffic);
    if (complete) complete(made, traffic);
    connections_[traffic] = connect(clock, loops, std::move(made), traffic);
  }
}

void ServerLinks::review() const {
  for (const auto& connection : connections_) connection->review();
}

std::size_t ServerLinks::reauthenticate(const client::LoginPtr& login) const {
  std::size_t open = subscriber_->reauthenticate(login) ? 1 : 0;
  for (const auto& connection : connections_) {
    if (connection->reauthenticate(login)) ++open;
  }
  return open;
}

void ServerLinks::decommission() const {
  for (const auto& connection : connections_) connection->decommission();
  subscriber_->close();
}

void ServerLinks::close(const Status& why) const {
  for (const auto& connection : connections_) connection->close(why);
  subscriber_->close();
}

}  // namespace holdfast::topology
