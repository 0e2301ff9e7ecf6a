#pragma once

#include <cstdint>

#include "base/clock.h"

namespace holdfast::sync {

// The time that a refused owner waits before the next attempt: a random time between bound /
// multiplier and bound. The bound begins with `initial` and grows by `multiplier` (1 or more) up to
// `maximum`
// (`initial` or more). With a multiplier of 1 all pauses are `initial`.
struct Backoff {
  Millis initial{1};
  Millis maximum{128};
  double multiplier = 2;
};

// The pauses of one acquisition, one after the other. The same seed gives the same pauses. Never
// zero.
class BackoffSequence {
 public:
  BackoffSequence(const Backoff& backoff, std::uint64_t seed);
  Duration next();

 private:
  double random();  // from 0 to 1

  double maximum_;  // in ticks, as bound_
  double multiplier_;
  double bound_;
  std::uint64_t state_;
};

}  // namespace holdfast::sync
