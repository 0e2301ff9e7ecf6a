#include "base/process.h"

#include <pthread.h>

#include <atomic>

namespace holdfast {

namespace {

std::atomic<std::uint64_t> g_epoch{1};

// Registered before anything can read the epoch: at the library's load.
const int g_counts_forks =
    ::pthread_atfork(nullptr, nullptr, [] { g_epoch.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::uint64_t fork_epoch() {
  (void)g_counts_forks;
  return g_epoch.load(std::memory_order_acquire);
}

void call_in_child(void (*forget)()) { ::pthread_atfork(nullptr, nullptr, forget); }

}  // namespace holdfast
