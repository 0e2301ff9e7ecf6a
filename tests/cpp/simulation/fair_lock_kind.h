#pragma once

#include <string>

#include "simulation/lock_kind.h"

namespace holdfast::simulation {

// The fair lock: who waits has a place in a line on the server, and gives signs of life.
class FairLockKind final : public LockKind {
 public:
  std::string word() const override { return "fair_lock"; }
  const sync::LockRecipe* lock_recipe(const LockName& lock) const override;
  sync::AcquireOptions acquire_options(Random& random) const override;
  bool admits(Keyspace& data, const LockName& lock, const std::string& owner) const override;
  Line line(Keyspace& data, const std::string& name) const override;
  Duration backoff(const sync::AcquireOptions& acquire_options) const override {
    return acquire_options.queue_timeout / 3;
  }
  bool may_stay(Keyspace& data, const std::string& key, bool in_peace) const override;
};

}  // namespace holdfast::simulation
