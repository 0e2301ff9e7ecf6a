#include "simulation/read_write_lock_kind.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "locks/sync/recipes/keys.h"
#include "locks/sync/recipes/kinds.h"

namespace holdfast::simulation {

namespace {

const std::string kWrites = ":write";

bool writes(const std::string& field) {
  return field.size() > kWrites.size() &&
         field.compare(field.size() - kWrites.size(), kWrites.size(), kWrites) == 0;
}

// The writer's field; empty without a writer.
std::string writer_of(const Holders& holders) {
  for (const auto& [field, hold] : holders) {
    if (writes(field)) return field;
  }
  return {};
}

// Until when the longest of the owner's read holds lives; nothing while none does.
std::optional<std::int64_t> reads_until(Keyspace& data, const std::string& name,
                                        const std::string& owner, int count) {
  std::optional<std::int64_t> longest;
  for (int n = 1; n <= count; ++n) {
    const std::string timeout = sync::keys::kBraced.of(LockName(name)) + ':' + owner +
                                ":rwlock_timeout:" + std::to_string(n);
    if (const Keyspace::Entry* key = data.find(timeout)) {
      longest = std::max(longest.value_or(0), key->expires.value_or(INT64_MAX));
    }
  }
  return longest;
}

}  // namespace

const sync::LockRecipe* ReadWriteLockKind::lock_recipe(const LockName& lock) const {
  return lock.side() == Side::kRead ? &sync::read_lock_recipe() : &sync::write_lock_recipe();
}

const std::vector<Side>& ReadWriteLockKind::sides() const {
  static const std::vector<Side> sides{Side::kRead, Side::kWrite};
  return sides;
}

std::string ReadWriteLockKind::field(const LockName& lock, const std::string& owner) const {
  return lock.side() == Side::kWrite ? owner + kWrites : owner;
}

// A reader holds it as long as one of its timeout keys lives, whatever the hash says.
Holders ReadWriteLockKind::holders(Keyspace& data, const std::string& name) const {
  Holders holders;
  const Hash* hash = data.get<Hash>(name);
  if (hash == nullptr) return holders;
  const std::int64_t whole = data.find(name)->expires.value_or(INT64_MAX);
  for (const auto& [field, count] : *hash) {
    if (field == "mode") continue;
    const int holds = std::stoi(count);
    const auto until = writes(field) ? whole : reads_until(data, name, field, holds);
    if (until) holders[field] = {holds, std::min(*until, whole)};
  }
  return holders;
}

// Any number of readers, or one writer, who may read.
bool ReadWriteLockKind::may_share(const Holders& holders) const {
  const std::string writer = writer_of(holders);
  if (writer.empty()) return true;
  const std::string reads_too = writer.substr(0, writer.size() - kWrites.size());
  return std::all_of(holders.begin(), holders.end(), [&](const auto& holder) {
    return holder.first == writer || holder.first == reads_too;
  });
}

bool ReadWriteLockKind::admits(Keyspace& data, const LockName& lock,
                               const std::string& owner) const {
  const Holders holders = this->holders(data, lock.text());
  if (lock.side() == Side::kWrite) return holders.empty();
  const std::string writer = writer_of(holders);
  return writer.empty() || writer == owner + kWrites;
}

}  // namespace holdfast::simulation
