#include "locks/lease/tracked_holds.h"

#include <functional>
#include <utility>

#include "locks/lease/hold.h"

namespace holdfast::lease {

void TrackedHolds::add(Hold& hold, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    const std::uint64_t hash = std::hash<std::string_view>()(key);
    by_key_.add(hash, &hold);
    if (hash != hold.name.hash()) hold.ensure_extras().tracked_keys.push_back(hash);
  }
  hold.tracked = true;
  ++holds_;
}

void TrackedHolds::remove(Hold& hold) {
  if (!hold.tracked) return;
  erase(hold.name.hash(), hold);
  if (HoldExtras* const extras = hold.extras.get()) {
    for (const std::uint64_t key : extras->tracked_keys) erase(key, hold);
    extras->tracked_keys.clear();
  }
  hold.tracked = false;
  --holds_;
}

// No effect where a kind does not read the key of the name.
void TrackedHolds::erase(std::uint64_t key, const Hold& hold) {
  Hold* const* const found = by_key_.find(key, [&](const Hold* other) { return other == &hold; });
  if (found != nullptr) by_key_.erase(found);
}

std::vector<Hold*> TrackedHolds::take(const client::KeyChanges& changes) {
  std::vector<Hold*> taken;
  const auto any = [](const Hold*) { return true; };
  if (changes.all) {
    by_key_.each([&](Hold* hold) {
      if (!std::exchange(hold->tracked, false)) return;
      if (HoldExtras* const extras = hold->extras.get()) extras->tracked_keys.clear();
      taken.push_back(hold);
    });
    by_key_.clear();
    holds_ = 0;
    return taken;
  }
  for (const std::string& key : changes.keys) {
    const std::uint64_t hash = std::hash<std::string_view>()(key);
    while (Hold* const* const found = by_key_.find(hash, any)) {
      taken.push_back(*found);
      remove(*taken.back());
    }
  }
  return taken;
}

void TrackedHolds::clear() {
  client::KeyChanges all;
  all.all = true;
  (void)take(all);
}

}  // namespace holdfast::lease
