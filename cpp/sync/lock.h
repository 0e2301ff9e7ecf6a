#pragma once

#include "sync/recipe.h"

namespace holdfast::sync {

// The recipe of the reentrant lock: a hash, owner -> hold count (Redisson's RLock).
const Recipe& lock_recipe();

}  // namespace holdfast::sync
