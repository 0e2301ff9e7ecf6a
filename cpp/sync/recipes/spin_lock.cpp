#include "sync/recipes/kinds.h"
#include "sync/recipes/lock.h"

namespace holdfast::sync {

namespace {

constexpr Steps kSpinSteps = lock_steps();

}  // namespace

const LockRecipe& spin_lock_recipe() {
  static const LockRecipe recipe(kSpinSteps, {"spin_lock", keys::kLockChannel, Waiting::kBackOff});
  return recipe;
}

}  // namespace holdfast::sync
