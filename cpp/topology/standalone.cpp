#include "topology/standalone.h"

namespace holdfast::topology {

using client::Connection;

Standalone::Standalone(const Clock& clock, const Loops& loops, const Setup& setup)
    : address_(setup.link.address.text()),
      calls_(std::make_shared<Connection>(
          clock, loops.io, Connection::Setup{setup.link, setup.driver, setup.on_lost})),
      renewals_(std::make_shared<Connection>(
          clock, loops.watchdog,
          Connection::Setup{setup.link, Connection::Driver::kLoop, setup.on_lost})),
      confirmations_(std::make_shared<Connection>(
          clock, loops.io, Connection::Setup{setup.link, Connection::Driver::kLoop, {}})),
      subscriber_(std::make_shared<client::Subscriber>(clock, loops.io, setup.link, setup.sink)) {}

std::shared_ptr<Connection> Standalone::route(std::string_view /*key*/, Traffic traffic) {
  if (traffic == Traffic::kConfirmations) return confirmations_;
  return traffic == Traffic::kCalls ? calls_ : renewals_;
}

void Standalone::close(const Status& why) {
  calls_->close(why);
  renewals_->close(why);
  confirmations_->close(why);
  subscriber_->close();
}

}  // namespace holdfast::topology
