#include "simulation/fair_lock_kind.h"

#include <algorithm>

#include "locks/sync/recipes/keys.h"
#include "locks/sync/recipes/kinds.h"

namespace holdfast::simulation {

namespace {

bool alive(Keyspace& data, const Place& place) { return place.alive > data.milliseconds(); }

std::int64_t score_of(const SortedSet& set, const std::string& member) {
  for (const Ranked& ranked : set) {
    if (ranked.member == member) return static_cast<std::int64_t>(ranked.score);
  }
  return 0;
}

}  // namespace

const sync::LockRecipe* FairLockKind::lock_recipe(const LockName& /*lock*/) const {
  return &sync::fair_lock_recipe();
}

// From those whose places often end before they ask again to those who nearly never do.
sync::AcquireOptions FairLockKind::acquire_options(Random& random) const {
  sync::AcquireOptions acquire_options;
  acquire_options.queue_timeout = Millis(30 + random.below(random.chance(500) ? 100 : 3000));
  return acquire_options;
}

bool FairLockKind::admits(Keyspace& data, const LockName& lock, const std::string& owner) const {
  if (data.find(lock.text()) != nullptr) return false;
  const Line line = this->line(data, lock.text());
  const auto first = std::find_if(line.begin(), line.end(), [&](const Place& place) {
    return place.owner == owner || alive(data, place);
  });
  return first == line.end() || first->owner == owner;
}

Line FairLockKind::line(Keyspace& data, const std::string& name) const {
  Line line;
  const LockName lock(name);
  const List* queue = data.get<List>(sync::keys::kFairQueue.of(lock));
  const SortedSet* timeouts = data.get<SortedSet>(sync::keys::kFairTimeouts.of(lock));
  if (queue == nullptr) return line;
  for (const std::string& owner : *queue) {
    line.push_back({owner, timeouts == nullptr ? 0 : score_of(*timeouts, owner)});
  }
  return line;
}

// The places of those who could not give them up stay until the next caller comes, but only of the
// dead.
bool FairLockKind::may_stay(Keyspace& data, const std::string& key, bool in_peace) const {
  if (in_peace) return false;
  const std::string name = key.substr(key.find('{') + 1, key.rfind('}') - key.find('{') - 1);
  const LockName lock(name);
  if (key != sync::keys::kFairQueue.of(lock) && key != sync::keys::kFairTimeouts.of(lock))
    return false;
  const Line line = this->line(data, name);
  return std::none_of(line.begin(), line.end(),
                      [&](const Place& place) { return alive(data, place); });
}

}  // namespace holdfast::simulation
