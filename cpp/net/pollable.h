#pragma once

#include "base/clock.h"

namespace holdfast::net {

// The next event that a Pollable waits for.
struct Interest {
  int fd = -1;  // -1: none
  bool read = false;
  bool write = false;
  TimePoint until = kNever;  // step again at this moment at the latest
  bool done = false;         // no work is left: the driver may drop it
  bool hangup = false;  // step when the peer has closed its end of a stream that no thread reads
};

// Something that makes progress without ever blocking: a connection, a timer wheel. Its driver, a
// thread that waits for the outcome or an EventLoop, calls step() once, then whenever its interest
// comes true. One driver at a time. step() does not throw.
class Pollable {
 public:
  virtual ~Pollable() = default;
  virtual Interest step(TimePoint now) = 0;
};

}  // namespace holdfast::net
