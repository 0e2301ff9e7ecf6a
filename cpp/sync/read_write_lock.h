#pragma once

#include "sync/recipe.h"

namespace holdfast::sync {

// The recipes of the two sides of a read-write lock (Redisson's RReadWriteLock): a hash with a mode
// and owner -> hold count, where a writer's field ends in ":write", and a key for each read hold
// that lives as long as its lease. Both sides use one channel.
const Recipe& read_lock_recipe();
const Recipe& write_lock_recipe();

}  // namespace holdfast::sync
