#include "topology/sentinel_watch.h"

#include <utility>

namespace holdfast::topology {

SentinelWatch::SentinelWatch(const Clock& clock, net::Loop& loop, Setup setup)
    : clock_(clock),
      loop_(loop),
      setup_(std::move(setup)),
      machine_(setup_.service, setup_.sentinels) {}

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
