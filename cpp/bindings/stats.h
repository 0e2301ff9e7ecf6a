#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>

#include "base/stats.h"

namespace holdfast::bindings {

// The figures of a client, for holdfast._engine.stats: the counters in the order of Stats::Counter,
// the number of tracked holds, then for each Stats::Timing a tuple (counts, sum in seconds).
pybind11::tuple stats_to_python(const Stats& stats, std::size_t tracked);

// The bounds of the buckets, in seconds.
pybind11::tuple histogram_bounds();

}  // namespace holdfast::bindings
