#include "sync/spin_lock.h"

#include "sync/lock.h"

namespace holdfast::sync {

namespace {

class SpinLockRecipe final : public LockRecipe {
 public:
  std::string_view kind() const override { return "spin_lock"; }
  Waiting waiting() const override { return Waiting::kBackOff; }
  std::string_view movable_as() const override { return {}; }
};

}  // namespace

const Recipe& spin_lock_recipe() {
  static const SpinLockRecipe recipe;
  return recipe;
}

}  // namespace holdfast::sync
