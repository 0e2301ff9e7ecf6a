#pragma once

#include <string>

#include "locks/sync/recipes/keys.h"
#include "locks/sync/recipes/kinds.h"
#include "simulation/lock_kind.h"

namespace holdfast::simulation {

// The fenced lock: a lock whose grants bring tokens, of which the server keeps the last one.
class FencedLockKind final : public LockKind {
 public:
  std::string word() const override { return "fenced_lock"; }
  const sync::LockRecipe* lock_recipe(const LockName& /*lock*/) const override {
    return &sync::fenced_lock_recipe();
  }
  bool makes_tokens() const override { return true; }
  bool may_stay(Keyspace& /*data*/, const std::string& key, bool /*in_peace*/) const override {
    return key.find("redisson_lock_token:") == 0;
  }
};

}  // namespace holdfast::simulation
