#pragma once

#include "redis/base/clock.h"

namespace holdfast::client {

// The rest after that many failures in a row: 10 ms doubling to 1 s, halved at random. Drawn by the
// nanosecond of the failure: no two clients share it, and a test's clock repeats it.
Duration backoff_after(int failures, TimePoint now);

}  // namespace holdfast::client
