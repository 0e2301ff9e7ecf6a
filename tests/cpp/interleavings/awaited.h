#pragma once

#include <utility>

#include "interleavings/sync_points.h"
#include "redis/base/clock.h"

namespace holdfast::interleavings {

// What `Ready` says, or a moment.
template <typename Ready>
class Until final : public Awaited {
 public:
  Until(Ready ready, TimePoint until) : ready_(std::move(ready)), until_(until) {}
  bool ready() const override { return ready_(); }
  TimePoint until() const override { return until_; }

 private:
  const Ready ready_;
  const TimePoint until_;
};

template <typename Ready, typename Time>
class WheneverReady final : public Awaited {
 public:
  WheneverReady(Ready ready, Time time) : ready_(std::move(ready)), time_(std::move(time)) {}
  bool ready() const override { return ready_(); }
  TimePoint until() const override { return time_(); }

 private:
  const Ready ready_;
  const Time time_;
};

}  // namespace holdfast::interleavings
