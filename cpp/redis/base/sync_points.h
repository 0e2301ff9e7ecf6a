#pragma once

#include <poll.h>

// The points at which threads of the engine interact: mutexes, condition variables, polls, and the
// atomics by which one thread learns what another has done. They are aliases of the system's types,
// without additional cost. A test build names another header in HOLDFAST_SYNC_POINTS, which defines
// the same names so that a scheduler chooses, at each of these points, which thread goes on
// (tests/cpp/interleavings). New ways to wait or to share belong here.
#if defined(HOLDFAST_SYNC_POINTS)
#include HOLDFAST_SYNC_POINTS
#else

#include <atomic>
#include <condition_variable>
#include <ctime>
#include <mutex>

namespace holdfast {

// Inside a loop that waits for another thread.
inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

using NativeMutex = std::mutex;

// For a moment a processor that finds `mutex` locked looks again: most are locked for less time
// than a thread takes to sleep and be woken.
inline void lock_soon(NativeMutex& mutex) {
  constexpr int kLooks = 40;
  for (int i = 0; i < kLooks; ++i) {
    if (mutex.try_lock()) return;
    pause_processor();
  }
  mutex.lock();
}

using NativeCondition = std::condition_variable;

template <typename T>
using SharedAtomic = std::atomic<T>;

// Rounded up, so that no poll ends before its time.
constexpr int whole_millis(const timespec& time) {
  return static_cast<int>(time.tv_sec * 1000 + (time.tv_nsec + 999'999) / 1'000'000);
}

// As ppoll() without a signal mask; where there is none, for whole milliseconds, rounded up.
inline int poll_descriptors(pollfd* descriptors, nfds_t count, const timespec& longest) {
#ifdef __linux__
  return ::ppoll(descriptors, count, &longest, nullptr);
#else
  return ::poll(descriptors, count, whole_millis(longest));
#endif
}

}  // namespace holdfast

#endif
