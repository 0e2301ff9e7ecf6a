#pragma once

#include <algorithm>
#include <string>

#include "simulation/fenced_lock_kind.h"
#include "simulation/lock_kind.h"
#include "sync/recipes/kinds.h"

namespace holdfast::simulation {

// A lock, or a fenced lock, whose releases grant it to waiters of other clients. Some clients use
// it without.
template <typename Base>
class DirectKind : public Base {
 public:
  std::string word() const override { return "direct_" + Base::word(); }
  const sync::LockRecipe* lock_recipe(const LockName& /*lock*/) const override {
    return &sync::find_lock_kind(word())->recipe();
  }
  const sync::HoldRecipe& notified_recipe(const LockName& lock) const override {
    return *Base::lock_recipe(lock);
  }
  // The set has the number of hand-overs for a while, and owners that could not leave it.
  bool may_stay(Keyspace& data, const std::string& key, bool in_peace) const override {
    const bool waiters =
        key.find("holdfast_waiters:") == 0 || key.find("holdfast_token_waiters:") == 0;
    if (!waiters) return Base::may_stay(data, key, in_peace);
    const SortedSet* const set = data.get<SortedSet>(key);
    return !in_peace || std::all_of(set->begin(), set->end(), [](const Ranked& one) {
      return one.member.find(':') == std::string::npos;
    });
  }
};

using DirectLockKind = DirectKind<LockKind>;
using DirectFencedLockKind = DirectKind<FencedLockKind>;

}  // namespace holdfast::simulation
