#ifdef __linux__

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <limits>

#include "redis/base/futex.h"

namespace holdfast {

static_assert(sizeof(FutexWord) == sizeof(std::uint32_t) && FutexWord::is_always_lock_free,
              "the kernel reads the word of an atomic");

namespace {

// The kernel wants the end of a wait by this clock.
timespec after_now(Duration wait) {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  const std::int64_t nanoseconds = time.tv_nsec + wait.count();
  return {time.tv_sec + nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
}

}  // namespace

void futex_wait(const FutexWord& word, std::uint32_t expected, std::uint32_t bits,
                Duration longest) {
  constexpr Duration kYear = std::chrono::hours(365 * 24);
  const bool ends = longest < kYear;  // a timer costs
  const timespec end = ends ? after_now(std::max(longest, Duration::zero())) : timespec{};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, ends ? &end : nullptr, nullptr,
            bits);
}

void futex_wake(const FutexWord& word, std::uint32_t bits) {
  constexpr int kAll = std::numeric_limits<int>::max();
  ::syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, kAll, nullptr, nullptr, bits);
}

}  // namespace holdfast

#endif  // __linux__
