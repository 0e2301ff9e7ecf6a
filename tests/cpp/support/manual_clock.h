#pragma once

#include <chrono>

#include "redis/base/clock.h"

namespace holdfast {

// A clock that tests move by hand. Not thread-safe.
class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

}  // namespace holdfast
