#pragma once

#include "sync/counter.h"

namespace holdfast::sync {

// The recipe of the semaphore: a string, the permits that are free (Redisson's RSemaphore). An
// acquisition is a request for `acquire_options.amount` permits, whose owner is its id; release()
// undoes it.
const TakingRecipe& semaphore_recipe();

// The other steps; of `acquire_options.amount` permits.
void add_permits(script::Writer& out, const Step& step);
void try_set_permits(script::Writer& out, const Step& step);
void drain_permits(script::Writer& out, const Step& step);
void delete_semaphore(script::Writer& out, const Step& step);

}  // namespace holdfast::sync
