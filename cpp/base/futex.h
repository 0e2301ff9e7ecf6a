#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/sync_points.h"

namespace holdfast {

// The kernel's futex: threads sleep on a word while it has a value. The engine's only use of the
// system call.
using FutexWord = SharedAtomic<std::uint32_t>;

// Sleeps while `word` is `expected`, for `longest` at most (which may be more than a day), until a
// futex_wake(). May return early without a reason.
void futex_wait(const FutexWord& word, std::uint32_t expected, Duration longest);

// Wakes at most `count` of the sleepers. It does not read the word, which may have been freed. If
// another word has the same address by now, its sleepers wake without a reason.
void futex_wake(const FutexWord& word, int count);

}  // namespace holdfast
