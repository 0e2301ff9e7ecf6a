#include "topology/sentinel.h"

#include <limits>
#include <utility>

namespace holdfast::topology {

using client::Connection;

namespace {

client::StreamOptions link_to_primary(const Setup& setup) {
  client::StreamOptions link = setup.link;
  link.service = setup.endpoint.service;
  // During a failover a failed attempt is not final: callers wait until their time-out.
  link.retries = std::numeric_limits<int>::max();
  return link;
}

SentinelWatch::Setup watch_setup(const Setup& setup) {
  SentinelWatch::Setup watch;
  watch.link = setup.link;
  watch.link.credentials = setup.endpoint.sentinel_credentials;
  watch.link.credential_source = {};
  watch.link.database = 0;
  watch.link.resp3 = true;
  watch.service = setup.endpoint.service;
  watch.sentinels = setup.endpoint.addresses;
  return watch;
}

std::shared_ptr<Connection> make_connection(const Clock& clock, const Loops& loops,
                                            const Setup& setup, Traffic traffic,
                                            const std::weak_ptr<SentinelWatch>& watch) {
  net::Loop& loop = traffic == Traffic::kRenewals ? loops.watchdog : loops.io;
  const auto driver = traffic == Traffic::kCalls ? setup.driver : Connection::Driver::kLoop;
  Connection::Setup connection{with_tracking(link_to_primary(setup), traffic, setup.tracking),
                               driver, setup.on_lost};
  connection.on_changes = setup.on_changes;
  if (setup.witness && traffic == Traffic::kCalls) connection.link.witness = setup.witness();
  connection.on_failed = [watch] {
    if (const auto strong = watch.lock()) strong->doubt();
  };
  return std::make_shared<Connection>(clock, loop, std::move(connection));
}

}  // namespace

Sentinel::Sentinel(const Clock& clock, const Loops& loops, const Setup& setup)
    : watch_(std::make_shared<SentinelWatch>(clock, loops.io, watch_setup(setup))),
      calls_(make_connection(clock, loops, setup, Traffic::kCalls, watch_)),
      renewals_(make_connection(clock, loops, setup, Traffic::kRenewals, watch_)),
      confirmations_(make_connection(clock, loops, setup, Traffic::kConfirmations, watch_)),
      subscriber_(std::make_shared<client::Subscriber>(clock, loops.io, link_to_primary(setup),
                                                       setup.sink)),
      verify_(setup.on_lost) {}

std::shared_ptr<Connection> Sentinel::route(std::string_view /*key*/, Traffic traffic) {
  start();
  if (traffic == Traffic::kConfirmations) return confirmations_;
  return traffic == Traffic::kCalls ? calls_ : renewals_;
}

void Sentinel::subscribe(const std::string& channel) {
  start();
  subscriber_->subscribe(channel);
}

void Sentinel::release(const std::string& channel, Duration linger) {
  subscriber_->release(channel, linger);
}

// Holds are verified first: other clients may get the locks as soon as calls are sent.
void Sentinel::start() {
  std::call_once(started_, [this] {
    watch_->start([calls = calls_, renewals = renewals_, confirmations = confirmations_,
                   subscriber = subscriber_, verify = verify_](const Result<net::Address>& to) {
      renewals->move(to);
      if (verify) verify();
      calls->move(to);
      confirmations->move(to);
      subscriber->move(to);
    });
  });
}

std::size_t Sentinel::reauthenticate(const client::LoginPtr& login) {
  std::size_t open = subscriber_->reauthenticate(login) ? 1 : 0;
  for (const auto* connection : {&calls_, &renewals_, &confirmations_}) {
    if ((*connection)->reauthenticate(login)) ++open;
  }
  return open;
}

void Sentinel::close(const Status& why) {
  watch_->close();
  calls_->close(why);
  renewals_->close(why);
  confirmations_->close(why);
  subscriber_->close();
}

}  // namespace holdfast::topology
