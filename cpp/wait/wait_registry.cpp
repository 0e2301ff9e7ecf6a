#include "wait/wait_registry.h"

#include <algorithm>
#include <utility>

namespace holdfast::wait {

namespace {

constexpr int kMostHandovers = 16;
constexpr Millis kLongestHandovers{10};
// A subscription outlives its last successful waiter for a moment: on a busy lock the next one
// comes soon.
constexpr Millis kLinger{100};
// Long enough for a message to arrive and an attempt to follow it; whoever holds back waits for the
// next message no longer than this.
constexpr Millis kCourtesy{2};
constexpr std::size_t kMostCourtesies = 64;

using Guard = std::lock_guard<std::mutex>;

}  // namespace

void Calls::run() {
  for (Call& call : calls_) {
    if (call.kind == Kind::kSignal) call.waiter->on_signal();
    if (call.kind == Kind::kTurn) call.waiter->on_turn(call.at);
    if (call.kind == Kind::kFailure) call.waiter->on_failure(call.why);
  }
  calls_.clear();
}

std::optional<std::uint64_t> WaitRegistry::sequence(const std::string& channel) const {
  const Guard guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end() || !found->second.subscribed) return std::nullopt;
  return found->second.sequence;
}

bool WaitRegistry::crowded(const std::string& channel) const {
  const Guard guard(mutex_);
  const auto found = queues_.find(channel);
  return found != queues_.end() && !found->second.waiters.empty();
}

TimePoint WaitRegistry::holds_back(const std::string& channel) const {
  const Guard guard(mutex_);
  const auto found = queues_.find(channel);
  if (found != queues_.end() && !found->second.waiters.empty()) return kNever;
  const auto courtesy = courtesies_.find(channel);
  return courtesy == courtesies_.end() ? TimePoint{} : courtesy->second;
}

void WaitRegistry::told(const std::string& channel, std::int64_t subscribers, TimePoint now) {
  const Guard guard(mutex_);
  const auto found = queues_.find(channel);
  const std::int64_t own = found != queues_.end() && found->second.subscribed ? 1 : 0;
  if (subscribers <= own) {
    if (!courtesies_.empty()) courtesies_.erase(channel);
    return;
  }
  if (courtesies_.size() >= kMostCourtesies) courtesies_.clear();
  courtesies_[channel] = now + kCourtesy;
}

WaitRegistry::Place WaitRegistry::join(const std::string& channel, WaiterPtr waiter,
                                       std::optional<std::uint64_t> seen) {
  const Guard guard(mutex_);
  const auto [found, fresh] = queues_.try_emplace(channel);
  Queue& queue = found->second;
  if (fresh) subscriptions_.subscribe(channel);
  queue.waiters.push_back(std::move(waiter));
  if (queue.waiters.size() > 1) return Place::kQueued;
  if (!queue.subscribed) return Place::kHead;
  return seen == queue.sequence ? Place::kHead : Place::kTryNow;
}

Calls WaitRegistry::leave(const std::string& channel, const Waiter& waiter, Departure why,
                          TimePoint retry_at) {
  Calls calls;
  const Guard guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end()) return calls;
  Queue& queue = found->second;
  const auto place = std::find_if(queue.waiters.begin(), queue.waiters.end(),
                                  [&](const WaiterPtr& w) { return w.get() == &waiter; });
  if (place == queue.waiters.end()) return calls;
  const bool was_head = place == queue.waiters.begin();
  queue.waiters.erase(place);
  if (queue.waiters.empty()) {
    subscriptions_.release(channel, why == Departure::kGranted ? kLinger : Duration::zero());
  } else if (was_head) {
    // An attempt that was not carried through may have been the answer to the last message.
    if (why == Departure::kTrying) {
      calls.signal(queue.waiters.front());
    } else {
      calls.turn(queue.waiters.front(), retry_at);
    }
  }
  return calls;
}

WaiterPtr WaitRegistry::heir(const std::string& channel, TimePoint now) {
  const Guard guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end() || found->second.waiters.empty()) return nullptr;
  Queue& queue = found->second;
  if (queue.handovers == 0) queue.first_handover = now;
  if (queue.handovers >= kMostHandovers || now >= queue.first_handover + kLongestHandovers) {
    queue.handovers = 0;
    return nullptr;
  }
  ++queue.handovers;
  return queue.waiters.front();
}

Calls WaitRegistry::subscribed(const std::string& channel) {
  Calls calls;
  const Guard guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end()) return calls;
  Queue& queue = found->second;
  queue.subscribed = true;
  ++queue.sequence;
  if (!queue.waiters.empty()) calls.signal(queue.waiters.front());
  return calls;
}

Calls WaitRegistry::message(const std::string& channel) {
  Calls calls;
  const Guard guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end()) return calls;
  ++found->second.sequence;
  if (!found->second.waiters.empty()) calls.signal(found->second.waiters.front());
  return calls;
}

Calls WaitRegistry::refused(const std::string& channel, const Status& why) {
  Calls calls;
  const Guard guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end()) return calls;
  for (WaiterPtr& waiter : found->second.waiters) calls.fail(std::move(waiter), why);
  queues_.erase(found);
  return calls;
}

Calls WaitRegistry::unreachable(const Status& why) {
  Calls calls;
  const Guard guard(mutex_);
  for (const auto& [channel, queue] : queues_) {
    for (const WaiterPtr& waiter : queue.waiters) calls.fail(waiter, why);
  }
  return calls;
}

bool WaitRegistry::released(const std::string& channel) {
  const Guard guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end()) return true;
  if (!found->second.waiters.empty()) return false;
  queues_.erase(found);
  return true;
}

}  // namespace holdfast::wait
