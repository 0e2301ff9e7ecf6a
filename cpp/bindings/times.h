#pragma once

#include <pybind11/pybind11.h>

#include "base/clock.h"
#include "base/types.h"

namespace holdfast::bindings {

constexpr double kNanos = 1e9;  // of a second

// Converts seconds (checked in Python: finite, not negative; negative for a wait without limit) to
// the engine's type.
inline Duration wait_time(double seconds) {
  if (seconds < 0) return kNever - TimePoint{};
  const double nanos = seconds * kNanos;
  return nanos >= 9e18 ? kNever - TimePoint{} : Duration(static_cast<Duration::rep>(nanos));
}

// A LeaseTime of Python: (ms, renewed).
inline Lease lease_of(const pybind11::handle& time) {
  const auto pair = pybind11::reinterpret_borrow<pybind11::tuple>(time);
  return {Millis(pair[0].cast<std::int64_t>()), pair[1].cast<bool>()};
}

}  // namespace holdfast::bindings
