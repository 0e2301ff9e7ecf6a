#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/mutex.h"
#include "base/sync_points.h"
#include "lease/hold.h"

namespace holdfast::engine {

// The events of all clients of a process, for one reading thread. Thread-safe.
class EventQueue final : public lease::EventSink {
 public:
  void post(lease::Event event) override;

  // Begins a run of the reading thread; the run's number.
  std::uint64_t begin();
  // Blocks until there is an event; empty once the run was stopped and the queue is empty.
  std::optional<lease::Event> next(std::uint64_t run);
  // Ends the run, if there is one.
  void stop();
  // A run was begun and not stopped.
  bool runs() const { return runs_.load(std::memory_order_relaxed); }

 private:
  Mutex mutex_;
  Condition wake_;
  std::deque<lease::Event> events_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t run_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  SharedAtomic<bool> runs_{false};
};

}  // namespace holdfast::engine
