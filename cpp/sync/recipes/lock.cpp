#include "sync/recipes/lock.h"

#include "sync/recipes/kinds.h"

namespace holdfast::sync {

namespace {

constexpr Steps kLockSteps = lock_steps();

}  // namespace

const LockRecipe& lock_recipe() {
  static const LockRecipe recipe(kLockSteps,
                                 {"lock", keys::kLockChannel, Waiting::kInTurn, "lock"});
  return recipe;
}

}  // namespace holdfast::sync
