#pragma once

#include "base/clock.h"

namespace holdfast::net {

// What a Pollable waits for next.
struct Interest {
  int fd = -1;  // -1: none
  bool read = false;
  bool write = false;
  TimePoint until = kNever;  // step again at this moment at the latest
  bool done = false;         // nothing left to do: whoever drives it may let go of it
  bool hangup = false;       // step when the peer has closed its end, of a stream that nobody reads
};

// Something that makes progress without ever blocking: a connection, a timer wheel. Whoever drives
// it calls step() once, then whenever its interest comes true: a thread that waits for the outcome,
// or an EventLoop. One driver at a time. step() does not throw.
class Pollable {
 public:
  virtual ~Pollable() = default;
  virtual Interest step(TimePoint now) = 0;
};

}  // namespace holdfast::net
