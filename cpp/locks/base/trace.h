#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "locks/base/types.h"
#include "redis/base/clock.h"
#include "redis/base/stats.h"

namespace holdfast {

// A step of the engine, as the trace records it.
struct TraceEntry {
  enum class Step : std::uint8_t {
    kGranted,     // an owner has a grant, nested ones included
    kRefused,     // an attempt was answered: another owner holds the lock
    kQueued,      // a waiter joined the queue of a channel
    kRenewed,     // a renewal was confirmed
    kExtended,    // an extension began, which may shorten the lease, or was confirmed
    kReleased,    // the last release of a hold began: its client no longer relies on it
    kLost,        // a hold ended without a release
    kHandedOver,  // the server gave the lock of this owner to the next waiter of its client
    kMessage,     // a message arrived on a channel that has waiters
    kSentAgain,   // a command was sent again after its connection had ended
  };
  Step step;
  std::string_view name;  // a lock's; kQueued and kMessage: the channel
  Side side = Side::kWhole;
  OwnerNumber owner{0};  // 0: the step has none
  TimePoint until{};     // kGranted, kRenewed and kExtended: the end of the hold's validity
};

// Where the entries go.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // On any thread, with locks held: it must be quick, take no lock of the engine, and copy what it
  // keeps.
  virtual void record(const TraceEntry& entry) = 0;
};

// The trace of this process, for tests and models: what applications are to know is an Event.
// Without a sink a step costs one comparison.
class Trace {
 public:
  // Null: no sink. To be called while no client is open.
  static void set_sink(TraceSink* sink) {
    sink_.store(sink, std::memory_order_release);
    using Resent = void (*)(std::string_view key);
    const Resent sent_again = [](std::string_view key) {
      record({TraceEntry::Step::kSentAgain, key});
    };
    ResendTrace::set_sink(sink == nullptr ? nullptr : sent_again);
  }

  static void record(const TraceEntry& entry) {
    TraceSink* const sink = sink_.load(std::memory_order_acquire);
    if (sink != nullptr) sink->record(entry);
  }

 private:
  static inline std::atomic<TraceSink*> sink_{nullptr};
};

}  // namespace holdfast
