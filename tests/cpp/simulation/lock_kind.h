#pragma once

#include <string>

#include "simulation/kind.h"

namespace holdfast::simulation {

// The plain lock, and whatever keeps its data: a hash, owner -> count, that expires as a whole.
class LockKind : public Kind {
 public:
  std::string word() const override { return "lock"; }
  const sync::LockRecipe* lock_recipe(const LockName& lock) const override;
  Holders holders(Keyspace& data, const std::string& name) const override;
  bool admits(Keyspace& data, const LockName& lock, const std::string& owner) const override;
};

}  // namespace holdfast::simulation
