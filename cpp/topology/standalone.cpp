#include "topology/standalone.h"

#include <utility>

namespace holdfast::topology {

using client::Connection;

namespace {

std::shared_ptr<Connection> connect(const Clock& clock, const Loops& loops, const Setup& setup,
                                    Traffic traffic) {
  net::Loop& loop = traffic == Traffic::kRenewals ? loops.watchdog : loops.io;
  const auto driver = traffic == Traffic::kCalls ? setup.driver : Connection::Driver::kLoop;
  const bool holds = traffic != Traffic::kConfirmations;
  Connection::Setup made{with_tracking(setup.link, traffic, setup.tracking), driver,
                         holds ? setup.on_lost : nullptr};
  made.on_changes = setup.on_changes;
  if (setup.witness && traffic == Traffic::kCalls) made.link.witness = setup.witness();
  return std::make_shared<Connection>(clock, loop, std::move(made));
}

}  // namespace

Standalone::Standalone(const Clock& clock, const Loops& loops, const Setup& setup)
    : address_(setup.link.address.text()),
      publish_(publish_command_of(setup.pubsub.value_or(client::PubSub::kClassic))),
      calls_(connect(clock, loops, setup, Traffic::kCalls)),
      renewals_(connect(clock, loops, setup, Traffic::kRenewals)),
      confirmations_(connect(clock, loops, setup, Traffic::kConfirmations)),
      subscriber_(std::make_shared<client::Subscriber>(clock, loops.io, setup.link, setup.sink)) {
  if (setup.pubsub) subscriber_->set_mode(*setup.pubsub);
}

std::shared_ptr<Connection> Standalone::route(std::string_view /*key*/, Traffic traffic) {
  if (traffic == Traffic::kConfirmations) return confirmations_;
  return traffic == Traffic::kCalls ? calls_ : renewals_;
}

std::size_t Standalone::reauthenticate(const client::LoginPtr& login) {
  std::size_t open = subscriber_->reauthenticate(login) ? 1 : 0;
  for (const auto* connection : {&calls_, &renewals_, &confirmations_}) {
    if ((*connection)->reauthenticate(login)) ++open;
  }
  return open;
}

void Standalone::close(const Status& why) {
  calls_->close(why);
  renewals_->close(why);
  confirmations_->close(why);
  subscriber_->close();
}

}  // namespace holdfast::topology
