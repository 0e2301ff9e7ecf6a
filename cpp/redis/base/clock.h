#pragma once

// The time, and timers.

#include <array>
#include <chrono>
#include <cstddef>
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

class TimerWheel;

// An entry of a TimerWheel, to be embedded in the object that has the timer; its destructor disarms
// it. Neither copied nor moved: the wheel links to it.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { disarm(); }

  bool armed() const { return wheel_ != nullptr; }
  TimePoint at() const { return at_; }
  void disarm();

 private:
  friend class TimerWheel;

  // A ring of the timers of one slot.
  Timer* next_ = nullptr;
  Timer* previous_ = nullptr;
  TimerWheel* wheel_ = nullptr;
  TimePoint at_{};
  std::uint32_t slot_ = 0;
};

// Any number of timers, armed and disarmed in constant time and without allocation: a hierarchical
// wheel with ticks of a millisecond (Varghese & Lauck, "Hashed and Hierarchical Timing Wheels",
// 1987). Times are rounded up to the tick: a timer is due less than a millisecond after its moment,
// never before. It reads no clock. Not thread-safe: the caller locks.
class TimerWheel {
 public:
  explicit TimerWheel(TimePoint start);
  ~TimerWheel();  // disarms all timers
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Arms (or re-arms) `timer` for `at`; one in the past is due at the next pop_due().
  void arm(Timer& timer, TimePoint at);

  // Takes one timer that is due at `now` out of the wheel, disarmed; nullptr when there is none.
  // In order of time up to the tick; usually in order of arming within a tick.
  Timer* pop_due(TimePoint now);

  // A moment to call pop_due() again: not after the next timer is due, and after the `now` of a
  // pop_due() that just returned nullptr; kNever when there is no timer. Exact for timers due
  // within a quarter of a second, so that the waits of a sleeper are few.
  TimePoint next() const;

  std::size_t size() const { return size_; }

 private:
  friend class Timer;
  using Tick = std::uint64_t;

  // The near slots hold one tick each: the block of 256 ticks that the current one is in, and the
  // block after it. Later blocks go to the far levels by the highest digit (base 64) in which their
  // number differs from that of the last near block, so the first occupied slot of the lowest
  // occupied level is always the next one, and each slot moves down when its first block is near.
  static constexpr unsigned kBlockBits = 8;
  static constexpr std::size_t kNearSlots = std::size_t{2} << kBlockBits;
  static constexpr std::size_t kNearWords = kNearSlots / 64;
  static constexpr unsigned kDigitBits = 6;
  static constexpr std::size_t kFarLevels = 6;
  static constexpr std::size_t kWords = kNearWords + kFarLevels;  // a word of flags per 64 slots
  static constexpr Tick kNoTick = ~Tick{0};

  Tick tick_at_or_before(TimePoint at) const;
  Tick last_near_block() const { return (current_ >> kBlockBits) + 1; }
  std::size_t slot_of(Tick tick) const;
  Tick first_near() const;  // the first occupied near slot; kNoTick: none
  Tick first_far() const;   // where the first occupied far slot begins; kNoTick: none
  void advance_to(Tick tick);
  void link(Timer& timer);
  void unlink(Timer& timer);

  const TimePoint start_;
  Tick current_ = 0;  // all before this one were popped
  std::size_t size_ = 0;
  std::array<std::uint64_t, kWords> occupied_{};
  std::array<Timer*, kWords * 64> slots_{};
};

inline void Timer::disarm() {
  if (wheel_ != nullptr) wheel_->unlink(*this);
}

}  // namespace holdfast
