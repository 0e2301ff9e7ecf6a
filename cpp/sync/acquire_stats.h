#pragma once

#include "base/stats.h"
#include "sync/acquire_machine.h"

namespace holdfast::sync {

// What one acquisition adds to the figures of its client. Used with its operation's lock held.
class AcquireStats {
 public:
  struct What {
    bool counted = true;  // it is an acquisition of a lock, and not one for a second time
    bool part = false;    // of a lock made of locks: only a grant counts
  };
  AcquireStats(Stats& stats, What what) : stats_(stats), what_(what) {}

  // It begins to wait; again: nothing.
  void waits() {
    if (waiting_ || !what_.counted) return;
    waiting_ = true;
    stats_.add(Stats::Counter::kWaiting);
  }
  bool counted() const { return what_.counted; }
  // Once, after `took`.
  void ended(Verdict verdict, Duration took);

  // The counter of an acquisition that ended so.
  static Stats::Counter counter(Verdict verdict);

 private:
  Stats& stats_;
  const What what_;
  bool waiting_ = false;
};

}  // namespace holdfast::sync
