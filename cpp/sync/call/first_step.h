#pragma once

#include "base/clock.h"

namespace holdfast::sync {

// What begin() of a first step (FirstAcquire) says to its call.
struct FirstStep {
  bool sends = true;                    // false: an operation begins in the place of its command
  TimePoint connect_deadline = kNever;  // see client::Request
  TimePoint latest = kNever;            // of the command, where the command time-out ends later
};

}  // namespace holdfast::sync
