#pragma once

#include "base/clock.h"

namespace holdfast::bindings {

// Seconds (checked in Python: finite, not negative; negative for a wait without limit) as the
// engine has them.
inline Duration wait_time(double seconds) {
  constexpr double kNanos = 1e9;
  if (seconds < 0) return kNever - TimePoint{};
  const double nanos = seconds * kNanos;
  return nanos >= 9e18 ? kNever - TimePoint{} : Duration(static_cast<Duration::rep>(nanos));
}

}  // namespace holdfast::bindings
