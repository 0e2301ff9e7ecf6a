#include "locks/engine/reauthentication.h"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::engine {

namespace {

constexpr Millis kShortestPause{100};
constexpr Millis kLongestPause{10000};

}  // namespace

Reauthentication::Reauthentication(const Clock& clock, net::Loop& loop, Setup setup,
                                   std::shared_ptr<EventSink> events)
    : clock_(clock), loop_(loop), setup_(std::move(setup)), events_(std::move(events)) {}

net::CredentialSource Reauthentication::source() {
  return [weak = weak_from_this(), source = setup_.source] {
    if (const auto self = weak.lock()) {
      const MutexLock lock(self->mutex_);
      const bool first = self->next_ == kNever;
      if (first) self->not_later_than(after(self->clock_.now(), self->setup_.period));
    }
    return source();
  };
}

void Reauthentication::set_topology(std::weak_ptr<topology::Topology> topology) {
  topology_ = std::move(topology);
}

void Reauthentication::stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  loop_.step_last(shared_from_this());
}

net::Interest Reauthentication::step(TimePoint now) {
  net::Interest interest;
  if (request_) {
    take(now);
  } else {
    call(now);
  }
  const MutexLock lock(mutex_);
  if (stopped_) request_.reset();
  interest.until = next_;
  if (request_) interest = {request_->fd(), true, false, until_};
  interest.done = stopped_ || (!request_ && next_ == kNever);
  return interest;
}

void Reauthentication::call(TimePoint now) {
  {
    const MutexLock lock(mutex_);
    if (stopped_ || now < next_) return;
    next_ = kNever;
  }
  until_ = after(now, setup_.timeout);
  request_ = setup_.source();
  if (request_->done()) take(now);
}

void Reauthentication::take(TimePoint now) {
  if (!request_->done() && now < until_) return;
  const Result<net::Credentials> answer =
      request_->done()
          ? request_->take()
          : Status::unreachable("no password within " + std::to_string(setup_.timeout.count()) +
                                " ms; what blocks the callable that was given for it?");
  request_.reset();
  if (answer.ok()) return send(now, answer.value());
  std::uint64_t round = 0;
  {
    const MutexLock lock(mutex_);
    round = round_;
  }
  refused(round, answer.status());
}

void Reauthentication::send(TimePoint now, const net::Credentials& who) {
  const auto topology = topology_.lock();
  if (!topology || (who.username.empty() && who.password.empty())) return;
  client::Login login{who, {}};
  {
    const MutexLock lock(mutex_);
    login.refused = [weak = weak_from_this(), round = ++round_](const Status& why) {
      if (const auto self = weak.lock()) self->refused(round, why);
    };
  }
  const std::size_t open =
      topology->reauthenticate(std::make_shared<const client::Login>(std::move(login)));
  const MutexLock lock(mutex_);
  if (open > 0) not_later_than(after(now, setup_.period));
}

// The first refusal of a round counts for all.
void Reauthentication::refused(std::uint64_t round, const Status& why) {
  const MutexLock lock(mutex_);
  if (round != round_ || stopped_) return;
  ++round_;
  Event event;
  event.kind = Event::Kind::kNotRenewed;
  event.reason = why.message();
  events_->post(std::move(event));
  const Millis pause = std::clamp(setup_.period / 10, kShortestPause, kLongestPause);
  not_later_than(after(clock_.now(), std::min(pause, setup_.period)));
}

void Reauthentication::not_later_than(TimePoint at) {
  if (at >= next_) return;
  next_ = at;
  loop_.drive_at(shared_from_this(), at);
}

}  // namespace holdfast::engine
