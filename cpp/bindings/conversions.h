#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <string>

#include "locks/locks.h"
#include "redis/base/clock.h"

namespace holdfast::bindings {

// The calling owner: the current greenlet where gevent has patched Python, else the thread.
OwnerNumber calling_owner();

constexpr double kNanos = 1e9;  // in a second

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

// The purpose that a label says.
inline Purpose purpose_of(const std::optional<std::string>& label) {
  return label ? Purpose(new PurposeText(*label)) : Purpose();
}

}  // namespace holdfast::bindings

// The engine's owners and times as Python has them. This header is part of each file with bindings.
namespace pybind11::detail {

// A number; in a call 0 stands for the calling owner.
template <>
struct type_caster<holdfast::OwnerNumber> {
  PYBIND11_TYPE_CASTER(holdfast::OwnerNumber, const_name("int"));
  bool load(handle from, bool convert) {
    make_caster<std::uint64_t> number;
    if (!number.load(from, convert)) return false;
    value = holdfast::OwnerNumber{cast_op<std::uint64_t>(number)};
    if (value == holdfast::OwnerNumber{}) value = holdfast::bindings::calling_owner();
    return true;
  }
  static handle cast(holdfast::OwnerNumber from, return_value_policy /*policy*/,
                     handle /*parent*/) {
    return PyLong_FromUnsignedLongLong(static_cast<std::uint64_t>(from));
  }
};

// A number of milliseconds.
template <>
struct type_caster<holdfast::Millis> {
  PYBIND11_TYPE_CASTER(holdfast::Millis, const_name("int"));
  bool load(handle from, bool convert) {
    make_caster<std::int64_t> count;
    if (!count.load(from, convert)) return false;
    value = holdfast::Millis(cast_op<std::int64_t>(count));
    return true;
  }
  static handle cast(holdfast::Millis from, return_value_policy /*policy*/, handle /*parent*/) {
    return PyLong_FromLongLong(from.count());
  }
};

// Seconds: see wait_time().
template <>
struct type_caster<holdfast::Duration> {
  PYBIND11_TYPE_CASTER(holdfast::Duration, const_name("float"));
  bool load(handle from, bool convert) {
    make_caster<double> seconds;
    if (!seconds.load(from, convert)) return false;
    value = holdfast::bindings::wait_time(cast_op<double>(seconds));
    return true;
  }
  static handle cast(holdfast::Duration from, return_value_policy /*policy*/, handle /*parent*/) {
    return PyFloat_FromDouble(static_cast<double>(from.count()) / holdfast::bindings::kNanos);
  }
};

}  // namespace pybind11::detail
