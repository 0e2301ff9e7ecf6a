#pragma once

#include <string>

#include "locks/sync/recipes/kinds.h"
#include "simulation/lock_kind.h"

namespace holdfast::simulation {

// The spin lock: the lock, whose waiters get no messages and try again after a backoff.
class SpinLockKind final : public LockKind {
 public:
  std::string word() const override { return "spin_lock"; }
  const sync::LockRecipe* lock_recipe(const LockName& /*lock*/) const override {
    return &sync::spin_lock_recipe();
  }
  sync::AcquireOptions acquire_options(Random& random) const override {
    sync::AcquireOptions acquire_options;
    acquire_options.backoff.initial = Millis(1 + static_cast<int>(random.below(20)));
    acquire_options.backoff.maximum =
        acquire_options.backoff.initial * (1 + static_cast<int>(random.below(8)));
    acquire_options.backoff.multiplier = 1 + static_cast<double>(random.below(3));
    return acquire_options;
  }
  Duration backoff(const sync::AcquireOptions& acquire_options) const override {
    return std::chrono::duration_cast<Duration>(Duration(acquire_options.backoff.initial) /
                                                acquire_options.backoff.multiplier);
  }
};

}  // namespace holdfast::simulation
