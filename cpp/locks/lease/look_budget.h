#pragma once

#include <algorithm>

#include "redis/base/clock.h"

namespace holdfast::lease {

// How often one may look: some times at once, and then once in each pause (the generic cell rate
// algorithm).
class LookBudget {
 public:
  struct Rate {
    Duration pause;
    int at_once;
  };

  // When the look that is wanted at `now` may be; it counts.
  TimePoint take(TimePoint now, const Rate& rate) {
    const TimePoint at = std::max(now, paid_until_ - rate.pause * (rate.at_once - 1));
    paid_until_ = std::max(paid_until_, at) + rate.pause;
    return at;
  }

 private:
  TimePoint paid_until_{};
};

}  // namespace holdfast::lease
