#include "simulation/lock_kind.h"

namespace holdfast::simulation {

const std::vector<const Kind*>& kinds() {
  static const LockKind lock;
  static const std::vector<const Kind*> all{&lock};
  return all;
}

}  // namespace holdfast::simulation
