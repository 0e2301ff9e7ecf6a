#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/sync_points.h"

namespace holdfast {

// The kernel's futex: threads sleep on a word while it has a value. The only place of the engine
// that asks the kernel for it.
using FutexWord = SharedAtomic<std::uint32_t>;

// Sleeps while `word` is `expected`, for `longest` at most (which may be more than a day), until a
// futex_wake(). May return early without a reason.
void futex_wait(const FutexWord& word, std::uint32_t expected, Duration longest);

// Wakes at most `count` of the sleepers. The word is not looked at: it may be gone by now, or be
// another one at the same address, whose sleepers then wake without a reason.
void futex_wake(const FutexWord& word, int count);

}  // namespace holdfast
