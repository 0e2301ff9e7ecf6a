#include "sync/quorum/multi_lock.h"

namespace holdfast::sync {

QuorumRule multi_lock_rule(std::size_t members, Millis /*lease*/) {
  return {members, members, true};
}

}  // namespace holdfast::sync
