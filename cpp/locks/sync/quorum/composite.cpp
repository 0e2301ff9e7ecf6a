#include "locks/sync/quorum/composite.h"

#include <algorithm>
#include <utility>

#include "redis/base/mutex.h"
#include "redis/client.h"

namespace holdfast::sync {

namespace {
// How long the waiting thread itself reads one of several connections: much longer than a nearby
// server takes.
constexpr Millis kReading{1};
}  // namespace

Composite::Composite(std::shared_ptr<const Context> context, LockName name, std::size_t members,
                     Role role)
    : Exchange(std::move(context), role), name_(std::move(name)) {
  calls_.reserve(members);
  arrived_.reserve(members);
}

void Composite::start(Parker* here) {
  thread_ = here;
  {
    const MutexLock lock(mutex_);
    const Status refused = enter();
    refused.ok() ? deliver({Input::Kind::kStart}) : finish({Verdict::kFailed, refused});
  }
  work();
}

// Commands of the members to one server, sent at once, go out in one piece.
void Composite::deliver(const Input& input) {
  const client::SendBatch sends;
  handle(input);
}

void Composite::wait_in(Parker& here, TimePoint slice) {
  read(here, std::min(control().end(), slice));
  work();
}

void Composite::read(Parker& here, TimePoint slice) {
  const auto next = std::find_if(calls_.begin(), calls_.end(),
                                 [](const MemberCall& each) { return !each.served_by_loop; });
  if (next == calls_.end()) return here.park(context().clock, slice);
  const ExchangePtr operation = next->operation;
  const bool alone = std::all_of(calls_.begin(), calls_.end(), [&](const MemberCall& each) {
    return !each.served_by_loop && each.operation->reads() == operation->reads();
  });
  if (alone) return operation->serve(here, arrival_, slice);
  operation->serve(here, arrival_, std::min(slice, after(now(), kReading)));
  if (arrival_.done.load(std::memory_order_acquire)) return;
  next->served_by_loop = true;
  operation->stop_serving(here);
}

void Composite::cancel() {
  {
    const MutexLock lock(mutex_);
    leave();
    deliver({Input::Kind::kCancel});
  }
  work();
}

void Composite::done(std::uint64_t id, Outcome outcome) {
  const WakeBatch wakes;
  const MutexLock lock(arrivals_mutex_);
  arrived_.push_back({id, std::move(outcome)});
  arrival_.done.store(true, std::memory_order_release);
  if (thread_ != nullptr) return wake(thread_);
  if (arrived_.size() == 1) context().timers->call(shared_from_this());
}

void Composite::time_is_up(TimePoint now) {
  work();
  {
    const MutexLock lock(mutex_);
    if (!finished() && now >= until_) {
      wake_at(kNever);
      deliver({Input::Kind::kTime});
    }
  }
  work();
}

void Composite::work() {
  const MutexLock lock(mutex_);
  while (arrival_.done.load(std::memory_order_acquire)) {
    {
      const MutexLock arrivals(arrivals_mutex_);
      taken_.clear();
      taken_.swap(arrived_);
      arrival_.done.store(false, std::memory_order_release);
    }
    for (Arrival& arrival : taken_) {
      const auto found =
          std::find_if(calls_.begin(), calls_.end(),
                       [&arrival](const MemberCall& each) { return each.id == arrival.id; });
      if (found == calls_.end()) continue;  // forgotten meanwhile
      const std::size_t member = found->member;
      const ExchangePtr operation = std::move(found->operation);
      calls_.erase(found);
      deliver({Input::Kind::kMember, member, std::move(arrival.outcome)});
    }
    taken_.clear();
  }
}

void Composite::call(std::size_t member, const ExchangePtr& operation) {
  const std::uint64_t id = ++last_;
  calls_.push_back({id, member, operation});
  operation->finish_to(shared_from_this(), id, thread_);
}

void Composite::forget(std::size_t member) {
  const auto found = std::find_if(calls_.begin(), calls_.end(), [member](const MemberCall& each) {
    return each.member == member;
  });
  if (found != calls_.end()) (void)drop(found);
}

ExchangePtr Composite::drop(std::vector<MemberCall>::iterator place) {
  ExchangePtr operation = std::move(place->operation);
  calls_.erase(place);
  if (thread_ != nullptr) operation->stop_serving(*thread_);
  return operation;
}

void Composite::wake_at(TimePoint at) {
  until_ = at;
  Exchange::wake_at(at);
}

void Composite::finish(Outcome outcome) {
  while (!calls_.empty()) (void)drop(calls_.begin());
  leave();
  Exchange::finish(std::move(outcome));
}

}  // namespace holdfast::sync
