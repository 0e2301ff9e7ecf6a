#include "simulation/permit_semaphore_kind.h"

#include <algorithm>
#include <cstdint>

#include "locks/sync/recipes/keys.h"
#include "locks/sync/recipes/permit_semaphore.h"

namespace holdfast::simulation {

namespace {

constexpr std::int64_t kPermits = 2;

std::int64_t counter(Keyspace& data, const std::string& name) {
  const std::string* free = data.get<std::string>(name);
  return free == nullptr ? 0 : std::stoll(*free);
}

const SortedSet& permits_out(Keyspace& data, const std::string& name) {
  static const SortedSet none;
  const SortedSet* out = data.get<SortedSet>(sync::keys::kPermitTimeouts.of(LockName(name)));
  return out == nullptr ? none : *out;
}

}  // namespace

const sync::HoldRecipe& PermitSemaphoreKind::recipe(const LockName& /*lock*/) const {
  return sync::permit_kind().renewed;
}

void PermitSemaphoreKind::set_up(Keyspace& data, const std::string& name) const {
  data.set(name, {std::to_string(kPermits), {}});
}

std::string PermitSemaphoreKind::name_of(const std::string& key) const {
  if (key.front() != '{') return key;
  return key.substr(1, key.rfind('}') - 1);
}

std::string PermitSemaphoreKind::field(const LockName& /*lock*/, const std::string& owner) const {
  const std::size_t colon = owner.rfind(':');
  return sync::permit_id(owner.substr(0, colon), OwnerNumber{std::stoull(owner.substr(colon + 1))});
}

// A step for a permit names the permit.
std::vector<std::string> PermitSemaphoreKind::fields(const std::string& /*name*/,
                                                     const std::string& owner) const {
  return {owner};
}

Holders PermitSemaphoreKind::holders(Keyspace& data, const std::string& name) const {
  Holders holders;
  for (const Ranked& permit : permits_out(data, name)) {
    const auto expires = static_cast<std::int64_t>(permit.score);
    if (expires > data.milliseconds()) holders[permit.member] = {1, expires};
  }
  return holders;
}

bool PermitSemaphoreKind::may_share(const Holders& holders) const {
  return static_cast<std::int64_t>(holders.size()) <= kPermits;
}

bool PermitSemaphoreKind::adds_up(Keyspace& data, const std::string& name) const {
  const auto out = static_cast<std::int64_t>(permits_out(data, name).size());
  return counter(data, name) + out == kPermits;
}

bool PermitSemaphoreKind::admits(Keyspace& data, const LockName& lock,
                                 const std::string& /*owner*/) const {
  return static_cast<std::int64_t>(holders(data, lock.text()).size()) < kPermits;
}

std::optional<std::int64_t> PermitSemaphoreKind::free_at(const Holders& holders) const {
  if (static_cast<std::int64_t>(holders.size()) < kPermits) return std::nullopt;
  std::int64_t first = INT64_MAX;
  for (const auto& [permit, hold] : holders) first = std::min(first, hold.expires);
  return first;
}

// The counter; and what has expired until the next command.
bool PermitSemaphoreKind::may_stay(Keyspace& data, const std::string& key,
                                   bool /*in_peace*/) const {
  return holders(data, name_of(key)).empty();
}

}  // namespace holdfast::simulation
