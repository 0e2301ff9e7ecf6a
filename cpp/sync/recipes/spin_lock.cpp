#include "sync/recipes/kinds.h"
#include "sync/recipes/lock.h"

namespace holdfast::sync {

namespace {

constexpr Steps kSpinSteps = lock_steps();

class SpinLock final : public LockRecipe {
 public:
  using LockRecipe::LockRecipe;
};

}  // namespace

const LockRecipe& spin_lock_recipe() {
  static const SpinLock recipe(kSpinSteps, {"spin_lock", keys::kLockChannel, Waiting::kBackOff});
  return recipe;
}

}  // namespace holdfast::sync
