#pragma once

// How threads wait for each other: mutexes, and Parkers to sleep at.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "redis/base/clock.h"
#include "redis/base/futex.h"
#include "redis/base/process.h"
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

// One thread's place to sleep. notify() is remembered until the sleeper has seen it, so none is
// missed; several may count as one. The sleeper may also wait in its own poll(), with
// wake_fd() in it.
//
// The Parker of a thread is never destroyed: when the thread ends, another one gets it. So
// notify() may come late, without a lock that keeps the sleeper from leaving; a sleeper has to look
// again at what it waits for, as the notification may have been meant for an earlier wait.
class Parker {
 public:
  Parker();
  Parker(const Parker&) = delete;
  Parker& operator=(const Parker&) = delete;

  // The calling thread's own, from its first use to its end.
  static Parker& of_this_thread();

  // Any thread.
  void notify();

  // Notifies many, and wakes those of them that sleep with one call for up to 32 of them.
  class Notifier;

  // The owning thread: returns after a notify() (consumed) or at `until`.
  void park(const Clock& clock, TimePoint until);

  // The owning thread, around a poll() in which wake_fd() is watched: until end_poll(), notify()
  // makes it readable. Returns false, and is not begun, when a notify() is pending (consumed).
  bool begin_poll();
  void end_poll();
  int wake_fd() const {
    return fd_.load(std::memory_order_relaxed);
  }  // negative: the process had no descriptor left
  // For a poll() without one: whether notify() has come since begin_poll(). Any thread.
  bool notified() const { return state_.load() == kNotified; }

  // Whether descriptors that no poll() has are kept for the next one, as they are at first. If not,
  // they are closed. Any thread.
  static void keep_descriptors(bool on);

 private:
  enum State : std::uint32_t { kAwake, kNotified, kAsleep, kPolling };

  bool rouse();
  static void wake(std::size_t word, std::uint32_t bits);
  void give_back();
  bool change(std::uint32_t from, std::uint32_t to) {
    return state_.compare_exchange_strong(from, to);
  }

  // Threads sleep on words that 32 of them share, each with its own bit: so one call of the kernel
  // wakes many. Parkers beyond the last word share bits, and wake together.
  static constexpr std::size_t kWords = 32;
  static std::array<FutexWord, kWords> words_;  // each grows before a wake-up

  const std::uint32_t number_;  // counted over all Parkers
  const std::size_t word_;
  const std::uint32_t bit_;
  SharedAtomic<std::uint32_t> state_{kAwake};
  // Between begin_poll() and end_poll(). A notifier that came while the process had no descriptor
  // left may read the one of a later poll(), which it then ends early.
  std::atomic<int> fd_{-1};
  Descriptor wake_up_;  // its owner; the owning thread's
};

// The wake-ups happen when it is destroyed. One system call wakes a batch, because threads share a
// word to sleep on; chains of wake-ups were slower by up to 45 % on a busy machine.
class Parker::Notifier {
 public:
  Notifier() = default;
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void notify(Parker& parker) {
    if (parker.rouse()) asleep_[parker.word_] |= parker.bit_;
  }

 private:
  std::array<std::uint32_t, kWords> asleep_{};
};

// Puts off what the calling thread notifies in this scope until its end: a thread that was
// notified under a mutex would wake only to sleep again on that mutex. Made before the mutexes of
// its scope are locked. In a scope within another one the outer one counts. Not to be held while
// the thread itself sleeps.
class WakeBatch {
 public:
  WakeBatch() : outer_(current_) {
    if (outer_ == nullptr) current_ = this;
  }
  ~WakeBatch() {
    if (outer_ != nullptr) return;
    current_ = nullptr;
    if (size_ > 0) wake();
  }
  WakeBatch(const WakeBatch&) = delete;
  WakeBatch& operator=(const WakeBatch&) = delete;

  // At the end of the calling thread's batch; without one, now.
  static void notify(Parker& parker);

 private:
  void wake();

  static inline thread_local WakeBatch* current_ = nullptr;
  WakeBatch* const outer_;
  std::size_t size_ = 0;
  std::array<Parker*, 32> few_;
  std::vector<Parker*> more_;
};

}  // namespace holdfast
