#include "topology/sentinel.h"

#include <limits>
#include <utility>

namespace holdfast::topology {

namespace {

Setup primary_setup(Setup setup) {
  setup.link.service = setup.endpoint.service;
  // During a failover a failed attempt is not final: callers wait until their time-out.
  setup.link.retries = std::numeric_limits<int>::max();
  return setup;
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

}  // namespace

Sentinel::Sentinel(const Clock& clock, const Loops& loops, const Setup& setup)
    : watch_(std::make_shared<SentinelWatch>(clock, loops.io, watch_setup(setup))),
      links_(clock, loops, primary_setup(setup),
             [watch = std::weak_ptr(watch_)](client::ConnectionSetup& made, Traffic /*traffic*/) {
               made.on_failed = [watch] {
                 if (const auto strong = watch.lock()) strong->doubt();
               };
             }),
      verify_(setup.on_lost) {}

std::shared_ptr<client::Connection> Sentinel::route(std::string_view /*key*/, Traffic traffic) {
  start();
  return links_.connection(traffic);
}

void Sentinel::subscribe(const std::string& channel) {
  start();
  links_.subscriber()->subscribe(channel);
}

// Holds are verified first: other clients may get the locks as soon as calls are sent.
void Sentinel::start() {
  std::call_once(started_, [this] {
    watch_->start([links = links_, verify = verify_](const Result<net::Address>& to) {
      links.connection(Traffic::kRenewals)->move(to);
      if (verify) verify();
      links.connection(Traffic::kCalls)->move(to);
      links.connection(Traffic::kConfirmations)->move(to);
      links.subscriber()->move(to);
    });
  });
}

void Sentinel::close(const Status& why) {
  watch_->close();
  links_.close(why);
}

}  // namespace holdfast::topology
