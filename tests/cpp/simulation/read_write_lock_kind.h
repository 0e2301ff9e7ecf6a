#pragma once

#include <string>
#include <vector>

#include "simulation/kind.h"

namespace holdfast::simulation {

// The read-write lock: two sides of one name; each reader has a separate lease.
class ReadWriteLockKind final : public Kind {
 public:
  std::string word() const override { return "read_write_lock"; }
  const sync::LockRecipe* lock_recipe(const LockName& lock) const override;
  const std::vector<Side>& sides() const override;
  std::string field(const LockName& lock, const std::string& owner) const override;
  Holders holders(Keyspace& data, const std::string& name) const override;
  bool may_share(const Holders& holders) const override;
  bool admits(Keyspace& data, const LockName& lock, const std::string& owner) const override;
};

}  // namespace holdfast::simulation
