#pragma once

#include <poll.h>

#include <memory>
#include <utility>

#include "redis/base/clock.h"

namespace holdfast::net {

// For poll(): the peer sends no more.
#ifdef __linux__
constexpr short kPollHangUp = POLLRDHUP;
#else
constexpr short kPollHangUp = POLLHUP;
#endif

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

// The driver of Pollables that no thread waits for: an EventLoop, or a test that steps them by
// hand.
class Loop {
 public:
  virtual ~Loop() = default;

  // Steps `pollable` soon, and then whenever its interest comes true, until it is done. A further
  // call for the same pollable (also during its last step) makes one more step soon. The loop
  // shares ownership while it drives. May be called from any thread, also within a step(), and with
  // any lock held: it does not call the Pollable, and throws nothing but std::bad_alloc.
  virtual void drive(std::shared_ptr<Pollable> pollable) = 0;

  // drive(), but no step is needed before `at`: a loop that sleeps is not woken before that.
  virtual void drive_at(std::shared_ptr<Pollable> pollable, TimePoint /*at*/) {
    drive(std::move(pollable));
  }

  // One more step for a pollable that is over, which is its last one. A loop that does not run lets
  // go of it instead: it needs no resource for that.
  virtual void step_last(std::shared_ptr<Pollable> pollable) { drive(std::move(pollable)); }
};

}  // namespace holdfast::net
