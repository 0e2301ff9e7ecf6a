#pragma once

#include <algorithm>

#include "base/types.h"

namespace holdfast::lease {

// A lease that another program sets, too, and has lately been seen to set to less than this client
// does. It may do so again at any moment, so until a whole lease has passed without it a hold is
// renewed and trusted as if its lease were the shortest one seen. Guarded by its hold's lock.
class ShortenedLease {
 public:
  // A renewal has found only `left` of the lease.
  void observe(Millis left, TimePoint now, Millis lease) {
    shortest_ = lasts(now) ? std::min(shortest_, left) : left;
    ends_ = after(now, lease);
  }

  // Whether the other program may still set its lease.
  bool lasts(TimePoint now) const { return now < ends_; }

  // The part of `lease` that may be relied upon.
  Millis part_of(Millis lease, TimePoint now) const {
    return lasts(now) ? std::min(lease, std::max(shortest_, kLeast)) : lease;
  }

 private:
  static constexpr Millis kLeast{750};  // renewals are no closer than 250 ms, a third of it
  Millis shortest_{0};
  TimePoint ends_{};
};

}  // namespace holdfast::lease
