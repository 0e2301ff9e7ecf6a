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
#include <mutex>

namespace holdfast {

using NativeMutex = std::mutex;
using NativeCondition = std::condition_variable;

template <typename T>
using SharedAtomic = std::atomic<T>;

// As ppoll() without a signal mask.
inline int poll_descriptors(pollfd* descriptors, nfds_t count, const timespec& longest) {
  return ::ppoll(descriptors, count, &longest, nullptr);
}

}  // namespace holdfast

#endif
