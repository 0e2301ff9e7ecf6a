#include "sync/quorum/composite.h"

#include <algorithm>
#include <utility>

#include "base/parker.h"
#include "client/connection.h"

namespace holdfast::sync {

namespace {
// How long the waiting thread itself reads for one of several members: much longer than a nearby
// server takes.
constexpr Millis kReading{1};
}  // namespace

Composite::Composite(std::shared_ptr<const Context> context, LockName name, std::size_t members)
    : context_(std::move(context)), name_(std::move(name)) {
  calls_.reserve(members);
}

std::optional<Outcome> Composite::wait(Interrupt* interrupt) {
  parker_ = &Parker::of_this_thread();
  set_waiter(parker_);
  try {
    return wait_here(interrupt);
  } catch (...) {  // no memory, threads or descriptors
    cancel_quietly();
    throw;
  }
}

// What it has begun must not go on for a caller that does not know of it.
void Composite::cancel_quietly() noexcept {
  set_waiter(nullptr);
  try {
    cancel();
  } catch (...) {
    return;
  }
}

std::optional<Outcome> Composite::wait_here(Interrupt* interrupt) {
  start(true);
  TimePoint look = interrupt != nullptr ? after(now(), kInterruptSlice) : kNever;
  bool interrupted = false;
  for (work(); !finished(); work()) {
    read(std::min(until_, look));
    work();
    look_at_clock();
    if (finished() || now() < look) continue;
    look = after(now(), kInterruptSlice);
    interrupted = interrupt->pending();
    if (interrupted) cancel();
  }
  set_waiter(nullptr);
  return interrupted ? std::nullopt : outcome_;
}

void Composite::start(bool by_thread) {
  const MutexLock turn(turn_);
  const Status refused = enter(by_thread);
  if (!refused.ok()) return finish({Verdict::kFailed, refused});
  deliver({Event::Kind::kStart});
}

// What the members send to one server at once goes out in one piece.
void Composite::deliver(const Event& event) {
  const client::SendBatch sends;
  handle(event);
}

void Composite::set_waiter(Parker* parker) {
  const MutexLock lock(mutex_);
  waiter_ = parker;
}

void Composite::read(TimePoint slice) {
  const auto next = std::find_if(calls_.begin(), calls_.end(),
                                 [](const MemberCall& each) { return !each.served_by_loop; });
  if (next == calls_.end()) return parker_->park(context_->clock, slice);
  const ExchangePtr operation = next->operation;
  if (calls_.size() == 1) return operation->serve(*parker_, slice);
  operation->serve(*parker_, std::min(slice, after(now(), kReading)));
  next->served_by_loop = true;
  operation->stop_serving(*parker_);
}

void Composite::finish_to(std::shared_ptr<Completion> completion, std::uint64_t id,
                          Parker* /*reader*/) {
  completion_ = std::move(completion);
  id_ = id;
  try {
    start(false);
    work();  // sets the timer
  } catch (...) {
    completion_.reset();
    cancel_quietly();
    throw;
  }
}

void Composite::cancel() {
  {
    const MutexLock turn(turn_);
    leave();
    deliver({Event::Kind::kCancel});
  }
  work();  // disarms the timer
}

void Composite::done(std::uint64_t id, Outcome outcome) { post({id, std::move(outcome)}); }

void Composite::post(Arrival arrival) {
  const WakeBatch wakes;
  const MutexLock lock(mutex_);
  arrived_.push_back(std::move(arrival));
  if (parker_ == nullptr) {
    if (arrived_.size() == 1) context_->timers->call(shared_from_this());
  } else if (waiter_ != nullptr && waiter_ != &Parker::of_this_thread()) {
    WakeBatch::notify(*waiter_);
  }
}

void Composite::on_time() {
  work();
  look_at_clock();
  work();
}

void Composite::work() {
  const MutexLock turn(turn_);
  while (std::optional<Arrival> arrival = next()) take(std::move(*arrival));
}

std::optional<Composite::Arrival> Composite::next() {
  const MutexLock lock(mutex_);
  if (!arrived_.empty()) {
    Arrival first = std::move(arrived_.front());
    arrived_.pop_front();
    return first;
  }
  if (parker_ == nullptr) context_->timers->arm(shared_from_this(), until_);
  return std::nullopt;
}

void Composite::take(Arrival arrival) {
  const auto found = std::find_if(calls_.begin(), calls_.end(), [&arrival](const MemberCall& each) {
    return each.id == arrival.id;
  });
  if (found == calls_.end()) return;
  const std::size_t member = found->member;
  const ExchangePtr operation = drop(found);
  deliver({Event::Kind::kMember, member, std::move(arrival.outcome)});
}

void Composite::look_at_clock() {
  const MutexLock turn(turn_);
  if (finished() || now() < until_) return;
  until_ = kNever;
  deliver({Event::Kind::kTime});
}

void Composite::call(std::size_t member, const ExchangePtr& operation) {
  const std::uint64_t id = ++last_;
  calls_.push_back({id, member, operation});
  operation->finish_to(shared_from_this(), id, parker_);
}

void Composite::forget(std::size_t member) {
  const auto found = std::find_if(calls_.begin(), calls_.end(), [member](const MemberCall& each) {
    return each.member == member;
  });
  if (found != calls_.end()) (void)drop(found);
}

bool Composite::has_call(std::size_t member) const {
  return std::any_of(calls_.begin(), calls_.end(),
                     [member](const MemberCall& each) { return each.member == member; });
}

ExchangePtr Composite::drop(std::vector<MemberCall>::iterator place) {
  ExchangePtr operation = std::move(place->operation);
  calls_.erase(place);
  if (parker_ != nullptr) operation->stop_serving(*parker_);
  return operation;
}

void Composite::finish(Outcome outcome) {
  while (!calls_.empty()) (void)drop(calls_.begin());
  until_ = kNever;
  outcome_ = std::move(outcome);
  leave();
  if (const auto completion = std::exchange(completion_, nullptr)) {
    completion->done(id_, *outcome_);
  }
}

}  // namespace holdfast::sync
