#pragma once

#include <cstdint>

#include "redis/base/clock.h"
#include "redis/base/sync_points.h"

namespace holdfast {

// Threads sleep on a word while it has a value: by the kernel's futex on Linux, else by mutexes and
// condition variables, in a child of fork(), too.
using FutexWord = SharedAtomic<std::uint32_t>;

// Sleeps while `word` is `expected`, for `longest` at most (which may be more than a day), until a
// futex_wake() for one of `bits`. May return early without a reason.
void futex_wait(const FutexWord& word, std::uint32_t expected, std::uint32_t bits,
                Duration longest);

// Wakes all who sleep with one of `bits`. The word is not looked at.
void futex_wake(const FutexWord& word, std::uint32_t bits);

}  // namespace holdfast
