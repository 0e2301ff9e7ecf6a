#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace holdfast {

// The figures of one client: totals since it was made, and how much there is now. Always counted,
// thread-safe, without a lock: each thread adds to one of several shards, of which total() and
// histogram() make the sum. What is read while others count may be a moment old; it is exact once
// they have returned.
class Stats {
 public:
  enum class Counter : std::uint8_t {
    kAcquired,         // grants, nested ones included
    kContended,        // of these, those that had to wait
    kTimedOut,         // acquisitions that ended without a grant because another held the lock
    kCancelled,        // that their caller gave up
    kFailed,           // that ended with an error
    kReleased,         // holds given back, nested ones included
    kLost,             // holds lost, or left behind by their thread or task; nested ones count once
    kRenewals,         // that the server has answered
    kRenewalFailures,  // that it has refused, or not answered
    kCommands,         // sent, those of the greeting of a connection not included
    kReconnects,       // connections established again
    kHeld,             // now; nested holds count once
    kWaiting,          // acquisitions that wait now
    kCounters,         // how many there are
  };
  enum class Timing : std::uint8_t {
    kWait,  // from the beginning of an acquisition to its grant
    kHold,  // from the first grant to the last release, or to the loss
    kTimings,
  };

  // The upper bounds of the buckets, in nanoseconds, each included; above the last one there is
  // one bucket more.
  static constexpr std::size_t kBounds = 18;
  static const std::array<std::int64_t, kBounds> kUpTo;

  struct Histogram {
    std::array<std::int64_t, kBounds + 1> counts{};
    Duration sum{};
  };

  Stats() = default;
  Stats(const Stats&) = delete;
  Stats& operator=(const Stats&) = delete;

  void add(Counter counter, std::int64_t amount = 1) { mine().add(counter, amount); }
  void add(Timing timing, Duration time);
  // A grant that took so long.
  void granted(bool contended, Duration took);
  // A hold that ended after so long.
  void hold_ended(Duration after);

  std::int64_t total(Counter counter) const;
  Histogram histogram(Timing timing) const;

 private:
  static constexpr std::size_t kShards = 8;
  template <typename Enum>
  static constexpr std::size_t index(Enum value) {
    return static_cast<std::size_t>(value);
  }
  using Cell = std::atomic<std::int64_t>;

  struct alignas(64) Shard {
    std::array<Cell, static_cast<std::size_t>(Counter::kCounters)> counters{};
    struct Timed {
      std::array<Cell, kBounds + 1> counts{};
      Cell sum{0};
    };
    std::array<Timed, static_cast<std::size_t>(Timing::kTimings)> timings{};

    void add(Counter counter, std::int64_t amount) {
      counters[index(counter)].fetch_add(amount, std::memory_order_relaxed);
    }
    void add(Timing timing, Duration time);
  };

  // The address of its stack selects a thread's shard, which is quicker than a thread_local
  // variable. Two threads that share a shard contend, with no other effect.
  Shard& mine() {
    constexpr unsigned kStackBits = 20;
    const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return shards_[((frame >> kStackBits) ^ (frame >> (kStackBits + 3))) % kShards];
  }

  std::array<Shard, kShards> shards_{};
};

}  // namespace holdfast
