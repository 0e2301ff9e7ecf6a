#pragma once

#include <cstdint>

#include "base/stats.h"
#include "sync/operation/acquire_machine.h"

namespace holdfast::sync {

// Counts one acquisition in the figures of its client. Used with its operation's lock held.
class AcquireStats {
 public:
  struct What {
    bool counted = true;  // of a lock or of permits, and not a repeated one
    bool part = false;    // of a lock made of locks: only a grant counts
    std::int64_t amount = 1;
    bool lasting = false;  // what is granted has no owner and no end
  };
  AcquireStats(Stats& stats, What what) : stats_(stats), what_(what) {}

  // It begins to wait; no effect when repeated.
  void waits() {
    if (waiting_ || !what_.counted) return;
    waiting_ = true;
    stats_.add(Stats::Counter::kWaiting);
  }
  // One of the two, once: it is granted after `took`, or it ends otherwise.
  void granted(Duration took) {
    if (!what_.counted) return;
    waits_no_longer();
    stats_.granted(waiting_, took, what_.amount);
    if (what_.lasting) stats_.add(Stats::Counter::kTaken, what_.amount);
  }
  void refused(Verdict verdict) {
    if (!what_.counted) return;
    waits_no_longer();
    if (!what_.part) stats_.add(counter(verdict));
  }

  // The counter for this end of an acquisition.
  static Stats::Counter counter(Verdict verdict);

 private:
  void waits_no_longer() {
    if (waiting_) stats_.add(Stats::Counter::kWaiting, -1);
  }

  Stats& stats_;
  const What what_;
  bool waiting_ = false;
};

}  // namespace holdfast::sync
