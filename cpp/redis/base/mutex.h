#pragma once

#include <mutex>

#include "redis/base/sync_points.h"

// Clang's thread-safety annotations (-Wthread-safety); other compilers see nothing.
#if defined(__clang__)
#define HOLDFAST_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define HOLDFAST_THREAD_ANNOTATION(x)
#endif

#define HOLDFAST_GUARDED_BY(mutex) HOLDFAST_THREAD_ANNOTATION(guarded_by(mutex))
#define HOLDFAST_REQUIRES(...) HOLDFAST_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define HOLDFAST_EXCLUDES(...) HOLDFAST_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define HOLDFAST_ACQUIRE(...) HOLDFAST_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define HOLDFAST_RELEASE(...) HOLDFAST_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define HOLDFAST_UNCHECKED HOLDFAST_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace holdfast {

// The only mutex of the engine, not recursive. Clang checks its annotations in the lint.
class HOLDFAST_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() HOLDFAST_ACQUIRE() { lock_soon(mutex_); }
  void unlock() HOLDFAST_RELEASE() { mutex_.unlock(); }

 private:
  friend class Condition;
  NativeMutex mutex_;
};

// Holds a Mutex for a scope, except between unlock() and lock().
class HOLDFAST_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) HOLDFAST_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() HOLDFAST_RELEASE() {
    if (holds_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() HOLDFAST_ACQUIRE() {
    mutex_.lock();
    holds_ = true;
  }
  void unlock() HOLDFAST_RELEASE() {
    holds_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool holds_ = true;
};

// Releases a Mutex that the caller holds, for a scope.
class HOLDFAST_THREAD_ANNOTATION(scoped_lockable) MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) HOLDFAST_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~MutexUnlock() HOLDFAST_RELEASE() { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition variable for data that a Mutex guards.
class Condition {
 public:
  // Releases `mutex` until a notification; may return without one, so the caller checks again.
  void wait(Mutex& mutex) HOLDFAST_REQUIRES(mutex) {
    std::unique_lock<NativeMutex> lock(mutex.mutex_, std::adopt_lock);
    wake_.wait(lock);
    lock.release();
  }
  void notify_one() { wake_.notify_one(); }
  void notify_all() { wake_.notify_all(); }

 private:
  NativeCondition wake_;
};

}  // namespace holdfast
