#pragma once

#include <poll.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "redis/base/clock.h"

// What redis/base/sync_points.h is in a build whose threads are run by a Scheduler: each of these
// is a point at which it chooses the thread that goes on. As only one thread runs at a time, plain
// values do. A thread that belongs to no scheduler passes without a stop, and must never have to
// wait.
//
// The order of memory is not explored: all atomics are sequentially consistent here.
namespace holdfast {

namespace interleavings {

// What a thread waits for. Asked by whatever thread runs.
class Awaited {
 public:
  virtual ~Awaited() = default;
  virtual bool ready() const { return true; }
  virtual TimePoint until() const { return kNever; }  // it goes on then at the latest
};

// The scheduler may let others go on first; returns when `awaited` is ready, or its time has come.
// `where` names the object in a trace.
void pass(const char* what, const void* where, const Awaited& awaited = {});

// The simulated time.
TimePoint time_now();

// The descriptors of the simulated network, which are negative, and the kernel's.
bool comes_true(const pollfd& descriptor);

}  // namespace interleavings

class NativeMutex {
 public:
  void lock() {
    interleavings::pass("lock", this, free_);
    free_.locked = true;
  }
  void unlock() {
    free_.locked = false;
    interleavings::pass("unlock", this);
  }

 private:
  struct Free final : interleavings::Awaited {
    bool ready() const override { return !locked; }
    bool locked = false;
  };
  Free free_;
};

inline void lock_soon(NativeMutex& mutex) { mutex.lock(); }

class NativeCondition {
 public:
  void wait(std::unique_lock<NativeMutex>& lock) {
    const Notified notified(*this);
    lock.unlock();
    interleavings::pass("wait", this, notified);
    lock.lock();
  }
  void notify_one() { notify_all(); }  // more than needed may wake
  void notify_all() {
    ++notifications_;
    interleavings::pass("notify", this);
  }

 private:
  class Notified final : public interleavings::Awaited {
   public:
    explicit Notified(const NativeCondition& of) : of_(of), before_(of.notifications_) {}
    bool ready() const override { return of_.notifications_ != before_; }

   private:
    const NativeCondition& of_;
    const int before_;
  };
  int notifications_ = 0;
};

template <typename T>
class SharedAtomic {
 public:
  constexpr SharedAtomic() = default;
  constexpr SharedAtomic(T value) : value_(value) {}  // NOLINT: as std::atomic
  SharedAtomic(const SharedAtomic&) = delete;
  SharedAtomic& operator=(const SharedAtomic&) = delete;

  T load(std::memory_order = std::memory_order_seq_cst) const {
    const T value = value_;
    interleavings::pass("load", this);  // what is known by it may be wrong by now
    return value;
  }
  void store(T value, std::memory_order = std::memory_order_seq_cst) {
    interleavings::pass("store", this);
    value_ = value;
  }
  T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
    interleavings::pass("exchange", this);
    return std::exchange(value_, value);
  }
  bool compare_exchange_strong(T& expected, T value,
                               std::memory_order = std::memory_order_seq_cst) {
    interleavings::pass("compare", this);
    const bool equal = value_ == expected;
    (equal ? value_ : expected) = equal ? value : value_;
    return equal;
  }
  T fetch_add(T by, std::memory_order = std::memory_order_seq_cst) {
    interleavings::pass("add", this);
    return std::exchange(value_, static_cast<T>(value_ + by));
  }
  T peek() const { return value_; }      // no point
  operator T() const { return load(); }  // NOLINT: as std::atomic
  T operator=(T value) {                 // NOLINT: as std::atomic
    store(value);
    return value;
  }

 private:
  T value_{};
};

int poll_descriptors(pollfd* descriptors, nfds_t count, const timespec& longest);

}  // namespace holdfast
