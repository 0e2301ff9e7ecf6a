#include "simulation/fair_lock_kind.h"
#include "simulation/fenced_lock_kind.h"
#include "simulation/lock_kind.h"
#include "simulation/permit_semaphore_kind.h"
#include "simulation/read_write_lock_kind.h"
#include "simulation/spin_lock_kind.h"

namespace holdfast::simulation {

const std::vector<const Kind*>& kinds() {
  static const LockKind lock;
  static const FairLockKind fair_lock;
  static const FencedLockKind fenced_lock;
  static const SpinLockKind spin_lock;
  static const ReadWriteLockKind read_write_lock;
  static const PermitSemaphoreKind permit_semaphore;
  static const std::vector<const Kind*> all{&lock,      &fair_lock,        &fenced_lock,
                                            &spin_lock, &permit_semaphore, &read_write_lock};
  return all;
}

}  // namespace holdfast::simulation
