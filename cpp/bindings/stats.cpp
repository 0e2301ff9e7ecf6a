#include "bindings/stats.h"

#include <cstddef>

#include "bindings/times.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

double seconds(std::int64_t nanos) { return static_cast<double>(nanos) / kNanos; }

py::tuple histogram(const Stats::Histogram& from) {
  py::tuple counts(from.counts.size());
  for (std::size_t i = 0; i < from.counts.size(); ++i) counts[i] = py::int_(from.counts[i]);
  return py::make_tuple(counts, seconds(from.sum.count()));
}

}  // namespace

py::tuple stats_to_python(const Stats& stats, std::size_t tracked) {
  // What comes after it is a part of what is held.
  constexpr auto kCounters = static_cast<std::size_t>(Stats::Counter::kTaken);
  py::tuple figures(kCounters + 3);
  for (std::size_t i = 0; i < kCounters; ++i) {
    figures[i] = py::int_(stats.total(static_cast<Stats::Counter>(i)));
  }
  figures[static_cast<std::size_t>(Stats::Counter::kHeld)] = py::int_(stats.held());
  figures[kCounters] = py::int_(tracked);
  figures[kCounters + 1] = histogram(stats.histogram(Stats::Timing::kWait));
  figures[kCounters + 2] = histogram(stats.histogram(Stats::Timing::kHold));
  return figures;
}

py::tuple histogram_bounds() {
  py::tuple bounds(Stats::kBounds);
  for (std::size_t i = 0; i < Stats::kBounds; ++i) bounds[i] = seconds(Stats::kUpTo[i]);
  return bounds;
}

}  // namespace holdfast::bindings
