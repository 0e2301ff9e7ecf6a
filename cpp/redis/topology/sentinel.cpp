#include "redis/topology/sentinel.h"

#include <limits>
#include <utility>

namespace holdfast::topology {

namespace {

SentinelWatch::Setup watch_setup(const Setup& setup) {
  SentinelWatch::Setup watch;
  watch.link = setup.link;
  watch.link.credentials = setup.endpoint.sentinel_credentials;
  watch.link.credential_source = {};
  watch.link.database = 0;
  watch.link.resp3 = true;
  watch.link.also_sent.clear();
  watch.link.label = {};
  watch.service = setup.endpoint.service;
  watch.sentinels = setup.endpoint.addresses;
  watch.primary = setup.primary;
  return watch;
}

}  // namespace

std::shared_ptr<Sentinel> Sentinel::make(const Clock& clock, const Loops& loops,
                                         const Setup& setup) {
  const auto watch = std::make_shared<SentinelWatch>(clock, loops.io, watch_setup(setup));
  const auto complete = [weak = std::weak_ptr(watch)](client::ConnectionSetup& made, Traffic) {
    made.on_failed = [weak] {
      if (const auto strong = weak.lock()) strong->doubt();
    };
  };
  Setup primary = setup;
  primary.link.service = setup.endpoint.service;
  // During a failover a failed attempt is not final: callers wait until their time-out.
  primary.link.retries = std::numeric_limits<int>::max();
  return std::make_shared<Sentinel>(watch, ServerLinks(clock, loops, primary, complete));
}

Sentinel::Sentinel(std::shared_ptr<SentinelWatch> watch, ServerLinks links)
    : SingleServer(std::move(links), {}, client::PubSub::kClassic), watch_(std::move(watch)) {}

std::shared_ptr<client::Connection> Sentinel::route(std::string_view key, Traffic traffic) {
  start();
  return SingleServer::route(key, traffic);
}

void Sentinel::subscribe(const std::string& channel) {
  start();
  SingleServer::subscribe(channel);
}

void Sentinel::start() {
  std::call_once(started_, [this] {
    watch_->start([links = links_](const Result<net::Address>& to) { links.move(to); });
  });
}

void Sentinel::close(const Status& why) {
  watch_->close();
  SingleServer::close(why);
}

SentinelWatch::SentinelWatch(const Clock& clock, net::Loop& loop, Setup setup)
    : clock_(clock),
      loop_(loop),
      setup_(std::move(setup)),
      machine_(setup_.service, setup_.sentinels, setup_.primary) {}

void SentinelWatch::start(Move move) {
  const MutexLock guard(mutex_);
  move_ = std::move(move);
  apply(machine_.start());
}

void SentinelWatch::doubt() {
  const MutexLock guard(mutex_);
  apply(machine_.doubt());
}

void SentinelWatch::on_said(const net::Address& sentinel, Opinion opinion) {
  const MutexLock guard(mutex_);
  apply(machine_.said(sentinel, std::move(opinion), clock_.now()));
}

void SentinelWatch::on_failed(const net::Address& sentinel, const Status& why) {
  const MutexLock guard(mutex_);
  apply(machine_.failed(sentinel, why, clock_.now()));
}

net::Interest SentinelWatch::step(TimePoint now) {
  const MutexLock guard(mutex_);
  if (now >= machine_.until()) apply(machine_.tick(now));
  net::Interest next;
  next.until = machine_.until();
  next.done = closed_ || next.until == kNever;
  return next;
}

void SentinelWatch::apply(const SentinelMachine::Actions& actions) {
  if (closed_) return;
  for (const net::Address& sentinel : actions.leave) {
    const auto stream = streams_.extract(sentinel.text());
    if (!stream.empty()) stream.mapped()->close();
  }
  for (const net::Address& sentinel : actions.watch) {
    client::StreamOptions link = setup_.link;
    link.address = sentinel;
    const auto stream = std::make_shared<SentinelStream>(loop_, std::move(link), setup_.service,
                                                         weak_from_this(), setup_.open);
    streams_[sentinel.text()] = stream;
    loop_.drive(stream);
  }
  if (actions.query) {
    for (const auto& [address, stream] : streams_) stream->query();
  }
  if (actions.move) move_(*actions.move);
  if (machine_.until() != kNever) loop_.drive(shared_from_this());
}

void SentinelWatch::close() {
  const MutexLock guard(mutex_);
  closed_ = true;
  for (const auto& [address, stream] : streams_) stream->close();
  streams_.clear();
  loop_.drive(shared_from_this());
}

std::string SentinelWatch::text() const {
  const MutexLock guard(mutex_);
  return machine_.text();
}

}  // namespace holdfast::topology
