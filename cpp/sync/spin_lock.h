#pragma once

#include "sync/recipe.h"

namespace holdfast::sync {

// The reentrant lock whose waiters do not listen but ask again, with a growing rest in between
// (Redisson's RSpinLock). On the server it is a lock; its release wakes those who listen.
const Recipe& spin_lock_recipe();

}  // namespace holdfast::sync
