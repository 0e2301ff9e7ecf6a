#pragma once

#include "sync/recipe.h"

namespace holdfast::sync {

// The reentrant lock whose grants bring a token, greater than all before it under that name
// (Redisson's RFencedLock).
const Recipe& fenced_lock_recipe();

}  // namespace holdfast::sync
