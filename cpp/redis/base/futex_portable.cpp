// The futex of systems that have none. The engine for Linux does not contain it; its tests do.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <new>

#include "redis/base/futex.h"
#include "redis/base/process.h"

namespace holdfast {
namespace {

// On the stack of the thread that sleeps.
struct Sleeper {
  const FutexWord* word;
  std::uint32_t bits;
  Sleeper* next;
  std::condition_variable woken;
  bool awake = false;
};

// The sleepers on words of one hash. The mutex orders the look at a word before the wake-up
// that follows its change.
struct Bucket {
  std::mutex mutex;
  Sleeper* first = nullptr;
};

using Buckets = std::array<Bucket, 64>;
Buckets g_buckets;

// In a child of fork(), another thread of the parent may have left a mutex locked, and none of
// those who sleep is there.
const int g_forgets = (call_in_child([] { new (&g_buckets) Buckets; }), 0);

Bucket& bucket_of(const FutexWord& word) {
  (void)g_forgets;
  const std::size_t place = std::hash<const FutexWord*>()(&word) / sizeof(FutexWord);
  return g_buckets[place % g_buckets.size()];
}

void sleep(std::condition_variable& woken, std::unique_lock<std::mutex>& lock, Duration longest) {
#ifdef __APPLE__
  // The one of the standard library follows the wall clock there.
  const timespec time{longest.count() / 1'000'000'000, longest.count() % 1'000'000'000};
  ::pthread_cond_timedwait_relative_np(woken.native_handle(), lock.mutex()->native_handle(), &time);
#else
  woken.wait_for(lock, longest);
#endif
}

}  // namespace

void futex_wait(const FutexWord& word, std::uint32_t expected, std::uint32_t bits,
                Duration longest) {
  constexpr Duration kDay = std::chrono::hours(24);  // longer ones overflow, and may return early
  Bucket& bucket = bucket_of(word);
  std::unique_lock<std::mutex> lock(bucket.mutex);
  if (word.load() != expected) return;
  Sleeper sleeper{&word, bits, bucket.first, {}};
  bucket.first = &sleeper;
  sleep(sleeper.woken, lock, std::clamp(longest, Duration::zero(), kDay));
  if (sleeper.awake) return;
  Sleeper** place = &bucket.first;
  while (*place != &sleeper) place = &(*place)->next;
  *place = sleeper.next;
}

void futex_wake(const FutexWord& word, std::uint32_t bits) {
  Bucket& bucket = bucket_of(word);
  const std::lock_guard<std::mutex> lock(bucket.mutex);
  for (Sleeper** place = &bucket.first; *place != nullptr;) {
    Sleeper& sleeper = **place;
    if (sleeper.word != &word || (sleeper.bits & bits) == 0) {
      place = &sleeper.next;
      continue;
    }
    *place = sleeper.next;
    sleeper.awake = true;
    sleeper.woken.notify_one();  // before the unlock: the sleeper destroys it when it returns
  }
}

}  // namespace holdfast
