#pragma once

#include "sync/recipe.h"

namespace holdfast::sync {

// The recipe of the fair lock: the lock's hash, a list of those who wait, in order, and the times
// until when each of them counts as alive (Redisson's RFairLock). AcquireOptions::queue_timeout
// says how long a place lasts without a sign of life; a waiter gives one each third of that, by
// asking again.
const Recipe& fair_lock_recipe();

}  // namespace holdfast::sync
