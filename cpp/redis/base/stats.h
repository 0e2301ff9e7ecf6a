#pragma once

// A client's reports to its application beside replies: its figures, and events.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "redis/base/clock.h"

namespace holdfast {

// The figures of one client: totals since its construction, and current values. Always counted,
// thread-safe, without a lock: each thread adds to one of several shards, and total() and
// histogram() return the sums. A sum that is read while other threads count may be a moment old; it
// is exact once they have returned.
class Stats {
 public:
  enum class Counter : std::uint8_t {
    kAcquired,   // grants, nested ones included
    kContended,  // acquisitions that had to wait
    kTimedOut,   // acquisitions that ended without a grant because another owner held the lock
    kCancelled,  // acquisitions that their caller cancelled
    kFailed,     // acquisitions that ended with an error
    kReleased,   // holds given back, nested ones included
    kLost,       // holds lost, or left behind by their thread or task; nested ones count once
    kRenewals,   // renewals that the server has answered
    kRenewalFailures,  // renewals that the server has refused, or not answered
    kCommands,         // commands sent, except those that set up a connection
    kReconnects,       // connections established again
    kProtocolErrors,   // connections ended by bytes that cannot be replies to what was sent
    kBusyPolls,        // readings that looked for the reply before they slept
    kBusyPollsRight,   // looks that found the reply
    kHeld,             // holds now; nested ones count once
    kWaiting,          // acquisitions that wait now
    kTaken,            // permits without owners, acquired and not released by this client
    kCounters,         // the number of counters
  };
  enum class Timing : std::uint8_t {
    kWait,  // from the beginning of an acquisition to its grant
    kHeld,  // from the first grant to the last release, or to the loss
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
  // Counts a grant, of `amount` permits, and the time until it.
  void granted(bool contended, Duration took, std::int64_t amount = 1);
  // Counts the end of a hold, and its duration.
  void held_for(Duration after);

  std::int64_t total(Counter counter) const;
  // Holds and permits now. A client may release more permits without owners than it has taken.
  std::int64_t held() const;
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

// An event that a connection reports to its application beside its replies.
struct Report {
  enum class Kind {
    kProtocolError,  // the connection was ended by what its server sent: `reason`
    kResolved,       // a command for `key` was sent again, and has its reply, of `server`
  };
  Kind kind;
  std::string key{};
  std::string reason{};
  std::string server{};  // its address
};

// Where reports go. Called on any thread, with mutexes locked: it only puts the report away.
class ReportSink {
 public:
  virtual ~ReportSink() = default;
  virtual void report(Report report) = 0;
};

// The commands that are sent again after their connection had ended, for tests and models. Without
// a sink each costs one comparison.
class ResendTrace {
 public:
  using Sink = void (*)(std::string_view key);
  // Null: no sink. To be called while no connection is open.
  static void set_sink(Sink sink) { sink_.store(sink, std::memory_order_release); }

  static void record(std::string_view key) {
    const Sink sink = sink_.load(std::memory_order_acquire);
    if (sink != nullptr) sink(key);
  }

 private:
  static inline std::atomic<Sink> sink_{nullptr};
};

}  // namespace holdfast
