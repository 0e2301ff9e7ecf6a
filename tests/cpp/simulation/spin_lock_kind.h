#pragma once

#include <string>

#include "simulation/lock_kind.h"
#include "sync/spin_lock.h"

namespace holdfast::simulation {

// The spin lock: the lock, whose waiters are told nothing and ask again after a rest.
class SpinLockKind final : public LockKind {
 public:
  std::string word() const override { return "spin_lock"; }
  const sync::Recipe& recipe(const LockName& /*lock*/) const override {
    return sync::spin_lock_recipe();
  }
  sync::Terms terms(Random& random) const override {
    sync::Terms terms;
    terms.back_off.initial = Millis(1 + static_cast<int>(random.below(20)));
    terms.back_off.maximum = terms.back_off.initial * (1 + static_cast<int>(random.below(8)));
    terms.back_off.multiplier = 1 + static_cast<double>(random.below(3));
    return terms;
  }
  Duration rest(const sync::Terms& terms) const override {
    return std::chrono::duration_cast<Duration>(Duration(terms.back_off.initial) /
                                                terms.back_off.multiplier);
  }
};

}  // namespace holdfast::simulation
