#pragma once

#include <array>
#include <string_view>

#include "locks/sync/recipes/counter.h"
#include "locks/sync/recipes/recipe.h"

namespace holdfast::sync {

// The kinds of lock and of counter: what a new one needs here is its declaration, and its row in
// kLockKinds or kCounterKinds. A row of kLockKinds comes last: the guard's page names a kind by its
// place there (guard/held_page.h).

// The reentrant lock (Redisson's RLock).
const LockRecipe& lock_recipe();

// The lock's hash, a list of the waiters, in order, and the times until which each of them counts
// as alive (Redisson's RFairLock). AcquireOptions::queue_timeout says how long a place lasts
// without a refresh; a waiter refreshes it each third of that, by another attempt.
const LockRecipe& fair_lock_recipe();

// The reentrant lock with a token for each grant, greater than all earlier tokens of the name
// (Redisson's RFencedLock).
const LockRecipe& fenced_lock_recipe();

// The fenced lock of a leader, beside which the state of the name says who leads: its release, by
// whichever client or guard, withdraws that in the same step.
const LockRecipe& leader_recipe();

// The reentrant lock with polling waiters, which do not subscribe and back off for growing times
// (Redisson's RSpinLock). On the server it is a lock; its release wakes subscribers.
const LockRecipe& spin_lock_recipe();

// The two sides of a read-write lock (Redisson's RReadWriteLock): a hash with a mode and owner ->
// hold count, where a writer's field ends in ":write", and a key for each read hold that lives as
// long as its lease. Both sides use one channel.
const LockRecipe& read_lock_recipe();
const LockRecipe& write_lock_recipe();

// The key in which a client says who it is: a hash of its label, host, process and start, which it
// keeps as it keeps its holds. Its owner is the client. It is no lock.
const LockRecipe& client_key_recipe();

// A kind and its word in Python and the tests; no word: what a client keeps for itself.
struct LockKind {
  std::string_view word;
  const LockRecipe& (*recipe)();
  Side side = Side::kWhole;
  bool part = false;  // programs know it as what is built on it
};
inline constexpr std::array kLockKinds{
    LockKind{"lock", &lock_recipe},
    LockKind{"fair_lock", &fair_lock_recipe},
    LockKind{"fenced_lock", &fenced_lock_recipe},
    LockKind{"spin_lock", &spin_lock_recipe},
    LockKind{"read_lock", &read_lock_recipe, Side::kRead},
    LockKind{"write_lock", &write_lock_recipe, Side::kWrite},
    LockKind{"leader", &leader_recipe, Side::kWhole, true},
    LockKind{"", &client_key_recipe},
};

// Null if no kind has this word.
inline const LockKind* find_lock_kind(std::string_view word) {
  for (const LockKind& kind : kLockKinds) {
    if (!word.empty() && kind.word == word) return &kind;
  }
  return nullptr;
}

// A string, the number of permits that are free (Redisson's RSemaphore).
const CounterKind& semaphore();

// A string, the count until it opens; without one it is open (Redisson's RCountDownLatch).
const CounterKind& count_down_latch();

// The revision of a state (keys::kState): its waiters wait until it is another than they know.
// observation(): of a leader's, which also ends with its lock, so its waiters also look at the
// messages of that: releases by any program publish there.
const CounterKind& revision();
const CounterKind& observation();

inline constexpr std::array kCounterKinds{&semaphore, &count_down_latch, &revision, &observation};

// As find_lock_kind().
inline const CounterKind* find_counter_kind(std::string_view word) {
  for (const auto kind : kCounterKinds) {
    if (kind().word == word) return &kind();
  }
  return nullptr;
}

}  // namespace holdfast::sync
