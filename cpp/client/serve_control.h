#pragma once

#include "base/clock.h"
#include "base/sync_points.h"

namespace holdfast::client {

// How long a thread stays in Connection::serve(), where it waits for a reply, or in
// Subscriber::wait_for_message(), where it waits for a message. Any thread may change it, and then
// notify() the Parker of that thread.
struct ServeControl {
  SharedAtomic<bool> done{false};
  SharedAtomic<bool> listens{false};  // for a message, not a reply
  SharedAtomic<BootTime::rep> until{kNever.time_since_epoch().count()};

  void set_until(TimePoint at) { until.store(at.time_since_epoch().count()); }
  bool over(TimePoint now) const { return done.load(std::memory_order_acquire) || now >= end(); }
  bool serves(TimePoint now) const { return !over(now) && !listens.load(); }
  bool awaits_message(TimePoint now) const { return !over(now) && listens.load(); }
  TimePoint end() const { return TimePoint(Duration(until.load())); }
};

}  // namespace holdfast::client
