#pragma once

#include "sync/counter.h"

namespace holdfast::sync {

// The recipe of waiting for a latch: a string, the count until it opens; without one it is open
// (Redisson's RCountDownLatch). An attempt reads the count and leaves nothing behind.
const Recipe& count_down_latch_recipe();

// The other steps.
void try_set_count(script::Writer& out, const Step& step);  // to `acquire_options.amount`
void count_down(script::Writer& out, const Step& step);
void delete_latch(script::Writer& out, const Step& step);

}  // namespace holdfast::sync
