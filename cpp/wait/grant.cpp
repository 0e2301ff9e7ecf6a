#include "wait/grant.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <utility>

#include "wait/wait_registry.h"

namespace holdfast::wait {

std::optional<Grant> parse_grant(std::string_view message) {
  constexpr std::size_t kWithoutToken = 3;
  std::array<std::int64_t, kWithoutToken + 1> numbers{};
  std::size_t count = 0;
  const char* at = message.data();
  const char* const end = at + message.size();
  while (count < numbers.size()) {
    const auto [stop, error] = std::from_chars(at, end, numbers[count]);
    if (error != std::errc() || numbers[count] < 1) return std::nullopt;
    ++count;
    at = stop;
    if (at == end) break;
    if (*at++ != ' ') return std::nullopt;
  }
  if (at != end || count < kWithoutToken) return std::nullopt;
  Grant grant{OwnerNumber{static_cast<std::uint64_t>(numbers[0])}, numbers[1], Millis(numbers[2])};
  if (count > kWithoutToken) grant.token = numbers[kWithoutToken];
  return grant;
}

Calls WaitRegistry::granted(const std::string& channel, const Grant& grant) {
  Calls calls;
  const MutexLock guard(mutex_);
  const auto found = queues_.find(channel);
  if (found == queues_.end()) return calls;
  ++found->second.sequence;
  for (const WaiterPtr& waiter : found->second.waiters) {
    if (!waiter->awaits_grant(grant.owner)) continue;
    calls.grant(waiter, grant);
    break;
  }
  return calls;
}

void WaitRegistry::subscribe(Queues::value_type& place, const Waiter& waiter, bool fresh) {
  auto& [channel, queue] = place;
  const bool grants = waiter.awaits_grants() && !std::exchange(queue.has_grants, true);
  if (grants) subscriptions_.subscribe_grants(channel);
  // Again, for messages from before it began to wait may be on their way.
  const bool late = waiter.since() > queue.requested;
  if (fresh || late) subscriptions_.subscribe(channel);
}

bool WaitRegistry::has_queue(const std::string& channel) const {
  const MutexLock guard(mutex_);
  return queues_.count(channel) != 0;
}

}  // namespace holdfast::wait
