#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace holdfast {

// The client's monotonic time, which includes suspend. All leases are measured by it.
struct BootTime {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<BootTime>;
  static constexpr bool is_steady = true;
};

using Duration = BootTime::duration;
using TimePoint = BootTime::time_point;
using Millis = std::chrono::milliseconds;

constexpr TimePoint kNever = TimePoint::max();

// `from + by`, or kNever if that overflows (as with TIMEOUT_MAX).
constexpr TimePoint after(TimePoint from, Duration by) {
  return by >= kNever - from ? kNever : from + by;
}

// after() for milliseconds, which may exceed the range of nanoseconds.
constexpr TimePoint after(TimePoint from, Millis by) {
  const bool endless = by >= std::chrono::duration_cast<Millis>(Duration::max());
  return endless ? kNever : after(from, Duration(by));
}

// The source of the time. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

// CLOCK_BOOTTIME where the system has it, else CLOCK_MONOTONIC, which includes suspend on macOS.
class SystemClock final : public Clock {
 public:
  TimePoint now() const override {
    static const clockid_t clock = []() -> clockid_t {
#ifdef CLOCK_BOOTTIME
      timespec probe{};
      if (clock_gettime(CLOCK_BOOTTIME, &probe) == 0) return CLOCK_BOOTTIME;
#endif
      return CLOCK_MONOTONIC;
    }();
    timespec time{};
    clock_gettime(clock, &time);
    return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

// A clock that tests move by hand. Not thread-safe.
class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

}  // namespace holdfast
