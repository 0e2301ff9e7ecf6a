#include "simulation/lock_kind.h"

#include <cstdint>

#include "locks/sync/recipes/kinds.h"

namespace holdfast::simulation {

const sync::LockRecipe* LockKind::lock_recipe(const LockName& /*lock*/) const {
  return &sync::lock_recipe();
}

Holders LockKind::holders(Keyspace& data, const std::string& name) const {
  Holders holders;
  if (const Hash* hash = data.get<Hash>(name)) {
    const std::int64_t expires = data.find(name)->expires.value_or(INT64_MAX);
    for (const auto& [owner, count] : *hash) holders[owner] = {std::stoi(count), expires};
  }
  return holders;
}

bool LockKind::admits(Keyspace& data, const LockName& lock, const std::string& /*owner*/) const {
  return data.find(lock.text()) == nullptr;
}

}  // namespace holdfast::simulation
