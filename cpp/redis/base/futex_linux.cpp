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

void futex_wait(const FutexWord& word, std::uint32_t expected, std::uint32_t bits,
                Duration longest) {
  constexpr Duration kYear = std::chrono::hours(365 * 24);
  const bool ends = longest < kYear;  // a timer costs
  timespec end{};
  if (ends) {  // by the clock of which the kernel wants it
    ::clock_gettime(CLOCK_MONOTONIC, &end);
    const std::int64_t nanoseconds = end.tv_nsec + std::max(longest, Duration::zero()).count();
    end.tv_sec += nanoseconds / 1'000'000'000;
    end.tv_nsec = nanoseconds % 1'000'000'000;
  }
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, ends ? &end : nullptr, nullptr,
            bits);
}

void futex_wake(const FutexWord& word, std::uint32_t bits) {
  constexpr int kAll = std::numeric_limits<int>::max();
  ::syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, kAll, nullptr, nullptr, bits);
}

}  // namespace holdfast

#endif  // __linux__
