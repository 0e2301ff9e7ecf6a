#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace holdfast {

static_assert(sizeof(FutexWord) == sizeof(std::uint32_t) && FutexWord::is_always_lock_free,
              "the kernel reads the word of an atomic");

void futex_wait(const FutexWord& word, std::uint32_t expected, Duration longest) {
  constexpr Duration kDay = std::chrono::hours(24);
  const Duration wait = std::clamp(longest, Duration::zero(), kDay);
  const timespec time{wait.count() / 1'000'000'000, wait.count() % 1'000'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &time, nullptr, 0);
}

void futex_wake(const FutexWord& word, int count) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace holdfast
