#include "locks/wait/wait_registry.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <utility>

#include "locks/base/trace.h"

namespace holdfast::wait {

namespace {

constexpr int kMostHandovers = 16;
constexpr Millis kLongestHandovers{10};
// A subscription outlives its last successful waiter for a moment: on a busy lock the next one
// comes soon.
constexpr Millis kLinger{100};
// Long enough for a message to arrive and an attempt to follow it; a waiter that yields waits for
// the next message no longer than this.
constexpr Millis kCourtesy{2};
constexpr std::size_t kMostCourtesies = 64;

constexpr std::int64_t kHoweverMany = std::numeric_limits<std::int64_t>::max();

// The permits in a message. A message that is no number may mean any number.
std::int64_t permits_in(std::string_view payload) {
  std::int64_t number = 0;
  const char* end = payload.data() + payload.size();
  const auto [stop, error] = std::from_chars(payload.data(), end, number);
  if (error != std::errc() || stop != end) return kHoweverMany;
  return std::max<std::int64_t>(number, 0);
}

// An attempt that was not carried through may have been the answer to the last message.
void notify_next(Calls& calls, const WaiterPtr& waiter, LeaveReason why, TimePoint retry_at) {
  why == LeaveReason::kTrying ? calls.signal(waiter) : calls.turn(waiter, retry_at);
}

}  // namespace

void Calls::append(Calls more) {
  if (calls_.empty()) return calls_.swap(more.calls_);
  std::move(more.calls_.begin(), more.calls_.end(), std::back_inserter(calls_));
}

std::optional<std::uint64_t> WaitRegistry::sequence(const std::string& channel) const {
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end() || !found->second.subscribed) return std::nullopt;
  return found->second.sequence;
}

TimePoint WaitRegistry::holds_back(const std::string& channel, std::int64_t wants) const {
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  if (found != queues_.end()) {
    const auto& ahead = found->second.waiters;
    const auto goes_first = [wants](const WaiterPtr& waiter) { return waiter->wants <= wants; };
    if (std::any_of(ahead.begin(), ahead.end(), goes_first)) return kNever;
  }
  const auto fairness_yield = fairness_yields_.find(channel);
  return fairness_yield == fairness_yields_.end() ? TimePoint{} : fairness_yield->second;
}

std::int64_t WaitRegistry::others(const std::string& channel) const {
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  return found == queues_.end() ? 0 : found->second.others;
}

bool WaitRegistry::has_waiters(std::size_t besides) const {
  const MutexLock guard(mutex_);
  std::size_t found = 0;
  const auto more = [&](const Queues::value_type& place) {
    found += place.second.size();
    return found > besides;
  };
  return std::any_of(queues_.begin(), queues_.end(), more);
}

bool WaitRegistry::has_waiters(const std::string& channel) const {
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  return found != queues_.end() && !found->second.empty();
}

bool WaitRegistry::idle(const std::string& channel, TimePoint now) const {
  const MutexLock guard(mutex_);
  if (!queues_.empty() && queues_.count(channel) > 0) return false;
  if (!releases_in_flight_.empty() && releases_in_flight_.count(channel) > 0) return false;
  if (fairness_yields_.empty()) return true;
  const auto fairness_yield = fairness_yields_.find(channel);
  return fairness_yield == fairness_yields_.end() || fairness_yield->second <= now;
}

void WaitRegistry::note_idle() {
  idle_ = queues_.empty() && releases_in_flight_.empty() && fairness_yields_.empty();
}

bool WaitRegistry::Queue::remove(const Waiter& waiter) {
  const auto is_it = [&](const WaiterPtr& other) { return other.get() == &waiter; };
  const auto place = std::find_if(waiters.begin(), waiters.end(), is_it);
  if (place != waiters.end()) {
    waiters.erase(place);
    return true;
  }
  const auto beside = std::find_if(together.begin(), together.end(), is_it);
  if (beside == together.end()) return false;
  together.erase(beside);
  return true;
}

void WaitRegistry::Queue::notify(Calls& calls) const {
  for (const WaiterPtr& waiter : together) calls.signal(waiter);
  notify_head(calls);
}

void WaitRegistry::Queue::notify(Calls& calls, std::string_view payload) const {
  if (!together.empty()) (void)share(calls, permits_in(payload), payload);
  notify_head(calls);
}

void WaitRegistry::Queue::notify_head(Calls& calls) const {
  if (waiters.empty()) return;
  if (fairness_yield == TimePoint{}) {
    calls.signal(waiters.front());
  } else {
    calls.turn(waiters.front(), fairness_yield);
  }
}

std::int64_t WaitRegistry::Queue::share(Calls& calls, std::int64_t permits,
                                        std::string_view payload) const {
  for (const WaiterPtr& waiter : together) {
    const std::int64_t wanted = waiter->wants;
    if (wanted > permits) continue;
    if (permits != kHoweverMany) permits -= wanted;
    waiter->since <= requested ? calls.message(waiter, payload) : calls.signal(waiter);
  }
  return permits;
}

void WaitRegistry::Queue::pass_on(Calls& calls, const Waiter& leaver, LeaveReason why) const {
  const std::int64_t permits = leaver.wants;
  if (why == LeaveReason::kTrying && permits > 0) (void)share(calls, permits);
}

void WaitRegistry::Queue::let_go(Calls& calls, std::int64_t permits, LeaveReason why,
                                 TimePoint retry_at) const {
  std::int64_t least = waiters.empty() ? 0 : waiters.front()->wants;
  for (std::size_t place = 1; permits > 0 && place < waiters.size(); ++place) {
    const WaiterPtr& waiter = waiters[place];
    const std::int64_t wanted = waiter->wants;
    if (permits <= wanted && wanted < least) notify_next(calls, waiter, why, retry_at);
    least = std::min(least, wanted);
  }
}

void WaitRegistry::Queue::fail(Calls& calls, const Status& why) const {
  for (const WaiterPtr& waiter : waiters) calls.fail(waiter, why);
  for (const WaiterPtr& waiter : together) calls.fail(waiter, why);
}

Calls WaitRegistry::published(const std::string& channel, std::int64_t subscribers, TimePoint now) {
  Calls calls;
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  Queue* queue = found == queues_.end() ? nullptr : &found->second;
  const std::int64_t others = subscribers - (queue != nullptr && queue->subscribed ? 1 : 0);
  if (queue != nullptr) {
    queue->others = others;
    if (queue->fairness_yield != TimePoint{}) {
      queue->fairness_yield = others > 0 ? now + kCourtesy : TimePoint{};
      queue->notify(calls);
    }
  }
  if (others <= 0) {
    if (fairness_yields_.empty()) return calls;
    fairness_yields_.erase(channel);
    note_idle();
    return calls;
  }
  if (fairness_yields_.size() >= kMostCourtesies) fairness_yields_.clear();
  fairness_yields_[channel] = now + kCourtesy;
  note_idle();
  return calls;
}

bool WaitRegistry::release_begins(const std::string& channel) {
  const MutexLock guard(mutex_);
  if (fairness_yields_.count(channel) == 0) return false;
  ++releases_in_flight_[channel];
  note_idle();
  return true;
}

bool WaitRegistry::release_in_flight(const std::string& channel) const {
  const MutexLock guard(mutex_);
  return !releases_in_flight_.empty() && releases_in_flight_.count(channel) != 0;
}

Calls WaitRegistry::release_answered(const std::string& channel) {
  Calls calls;
  const MutexLock guard(mutex_);
  const auto in_flight = releases_in_flight_.find(channel);
  if (in_flight == releases_in_flight_.end() || --in_flight->second > 0) return calls;
  releases_in_flight_.erase(in_flight);
  note_idle();
  const auto found = queues_.find(channel);
  if (found == queues_.end() || found->second.fairness_yield != kNever) return calls;
  found->second.fairness_yield = {};
  found->second.notify(calls);
  return calls;
}

WaitRegistry::Place WaitRegistry::join(const std::string& channel, WaiterPtr waiter,
                                       std::optional<std::uint64_t> seen, Waiting waiting) {
  Trace::record({TraceEntry::Step::kQueued, channel});
  const MutexLock guard(mutex_);
  if (waiting == Waiting::kBackOff) {
    apart_.emplace(waiter.get(), ++came_apart_);
    apart_in_order_.emplace(came_apart_, std::move(waiter));
    return Place::kHead;
  }
  const auto [found, fresh] = queues_.try_emplace(channel);
  note_idle();
  Queue& queue = found->second;
  // Again, for messages from before it began to wait may be on their way.
  const bool late = waiter->since > queue.requested;
  const std::int64_t wants = waiter->wants;
  if (fresh || late) subscriptions_.subscribe(channel);
  if (waiting == Waiting::kTogether) {
    queue.together.push_back(std::move(waiter));
  } else {
    queue.waiters.push_back(std::move(waiter));
    const auto goes_first = [wants](const WaiterPtr& ahead) { return ahead->wants <= wants; };
    const auto own = std::prev(queue.waiters.end());
    if (std::any_of(queue.waiters.begin(), own, goes_first)) return Place::kQueued;
    const bool awaits_answer = queue.waiters.size() == 1 && !releases_in_flight_.empty() &&
                               releases_in_flight_.count(channel) > 0;
    if (awaits_answer) {
      queue.fairness_yield = kNever;  // until release_answered()
      return Place::kHead;
    }
  }
  if (!queue.subscribed) return Place::kHead;
  return seen == queue.sequence ? Place::kHead : Place::kTryNow;
}

Calls WaitRegistry::leave(const std::string& channel, const Waiter& waiter, LeaveReason why,
                          TimePoint retry_at) {
  Calls calls;
  const MutexLock guard(mutex_);
  if (const auto apart = apart_.find(&waiter); apart != apart_.end()) {
    apart_in_order_.erase(apart->second);
    apart_.erase(apart);
    return calls;
  }
  const auto found = queues_.find(channel);
  if (found == queues_.end()) return calls;
  Queue& queue = found->second;
  const bool was_head = !queue.waiters.empty() && queue.waiters.front().get() == &waiter;
  if (!queue.remove(waiter)) return calls;
  if (was_head && why == LeaveReason::kGranted) queue.fairness_yield = {};
  queue.pass_on(calls, waiter, why);
  if (queue.empty()) {
    subscriptions_.release(channel, why == LeaveReason::kGaveUp ? Duration::zero() : kLinger);
  } else if (was_head) {
    if (!queue.waiters.empty()) notify_next(calls, queue.waiters.front(), why, retry_at);
  } else if (why == LeaveReason::kTrying && waiter.wants > 0) {
    // It may have been notified of what the head found free: the head looks what is left.
    queue.notify_head(calls);
  }
  queue.let_go(calls, waiter.wants, why, retry_at);
  return calls;
}

WaiterPtr WaitRegistry::next_waiter(const std::string& channel, TimePoint now) {
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end() || found->second.waiters.empty()) return nullptr;
  Queue& queue = found->second;
  if (queue.handovers == 0) queue.first_handover = now;
  if (queue.handovers >= kMostHandovers || now >= queue.first_handover + kLongestHandovers) {
    queue.handovers = 0;
    queue.fairness_yield = now + kCourtesy;
    return nullptr;
  }
  ++queue.handovers;
  return queue.waiters.front();
}

void WaitRegistry::expect(const std::string& channel) {
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  if (found != queues_.end() && !found->second.empty()) subscriptions_.expect(channel);
}

Calls WaitRegistry::subscribed(const std::string& channel, TimePoint requested, bool fresh) {
  Calls calls;
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end()) return calls;
  Queue& queue = found->second;
  queue.requested = requested;
  if (!fresh) return calls;
  queue.subscribed = true;
  ++queue.sequence;
  if (queue.fairness_yield != kNever) queue.fairness_yield = {};
  queue.notify(calls);
  return calls;
}

Calls WaitRegistry::left_over(const std::string& channel, std::int64_t permits) {
  Calls calls;
  if (permits < 1) return calls;
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end()) return calls;
  // Too few for the head of the queue: the rest is for the waiters behind it.
  std::int64_t left = found->second.share(calls, permits);
  const std::deque<WaiterPtr>& waiters = found->second.waiters;
  for (std::size_t place = 1; place < waiters.size() && left > 0; ++place) {
    const std::int64_t wanted = waiters[place]->wants;
    if (wanted > left) continue;
    left -= wanted;
    calls.signal(waiters[place]);
  }
  return calls;
}

Calls WaitRegistry::not_for(const std::string& channel, const Waiter& leaver) {
  Calls calls;
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end()) return calls;
  found->second.notify_head(calls);
  found->second.pass_on(calls, leaver, LeaveReason::kTrying);
  return calls;
}

Calls WaitRegistry::message(const std::string& channel, std::string_view payload) {
  Calls calls;
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end()) return calls;
  ++found->second.sequence;
  Trace::record({TraceEntry::Step::kMessage, channel});
  found->second.notify(calls, payload);
  return calls;
}

Calls WaitRegistry::refused(const std::string& channel, const Status& why) {
  Calls calls;
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end()) return calls;
  found->second.fail(calls, why);
  queues_.erase(found);
  note_idle();
  return calls;
}

Calls WaitRegistry::unreachable(const std::string& channel, const Status& why) {
  Calls calls;
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  if (found != queues_.end()) found->second.fail(calls, why);
  return calls;
}

Calls WaitRegistry::closed(const Status& why) {
  Calls calls;
  const MutexLock guard(mutex_);
  for (const auto& [channel, queue] : queues_) queue.fail(calls, why);
  for (const auto& [number, waiter] : apart_in_order_) calls.fail(waiter, why);
  return calls;
}

bool WaitRegistry::released(const std::string& channel) {
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end()) return true;
  if (!found->second.empty()) return false;
  queues_.erase(found);
  note_idle();
  return true;
}

}  // namespace holdfast::wait
