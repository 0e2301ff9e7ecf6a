#pragma once

#include <memory>
#include <vector>

#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/net/pollable.h"

namespace holdfast::sync {

// The receiver of a timer. Timers keeps it alive while it is armed.
class Timed {
 public:
  virtual ~Timed() = default;
  virtual void on_time() = 0;  // on the loop's thread, without locks of Timers held

 private:
  friend class Timers;
  struct DueTimer : Timer {
    std::shared_ptr<Timed> keeps;
  };
  DueTimer timer_;
};

// The timers of operations that no thread waits for; driven by the loop. Thread-safe.
class Timers final : public net::Pollable, public std::enable_shared_from_this<Timers> {
 public:
  Timers(const Clock& clock, net::Loop& loop);

  void arm(const std::shared_ptr<Timed>& timed, TimePoint at);  // or disarm, for kNever
  void disarm(Timed& timed) HOLDFAST_EXCLUDES(mutex_);
  // Calls it as soon as possible, regardless of its timer.
  void call(std::shared_ptr<Timed> timed);
  // The client is closed: the loop drops this as soon as no timer is armed, and does not wait for
  // the time of a disarmed one.
  void close();

  net::Interest step(TimePoint now) override;

 private:
  net::Loop& loop_;
  Mutex mutex_;
  TimerWheel wheel_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Timed>> calls_ HOLDFAST_GUARDED_BY(mutex_);
  TimePoint armed_ HOLDFAST_GUARDED_BY(mutex_) = kNever;
  bool closed_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::sync
