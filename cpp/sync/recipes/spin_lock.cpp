#include "sync/recipes/kinds.h"
#include "sync/recipes/lock.h"

namespace holdfast::sync {

namespace {

class SpinLock final : public ReentrantLock {
 public:
  std::string_view kind() const override { return "spin_lock"; }
  Waiting waiting() const override { return Waiting::kBackOff; }
  const Movable* movable() const override { return nullptr; }
};

}  // namespace

const LockRecipe& spin_lock_recipe() {
  static const SpinLock recipe;
  return recipe;
}

}  // namespace holdfast::sync
