#pragma once

#include <memory>
#include <utility>

#include "net/pollable.h"

namespace holdfast::net {

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

  // The same, but no step is needed before `at`: a loop that sleeps is not woken before that.
  virtual void drive_at(std::shared_ptr<Pollable> pollable, TimePoint /*at*/) {
    drive(std::move(pollable));
  }

  // One more step for a pollable that is over, which is its last one. A loop that does not run lets
  // go of it instead: it needs no resource for that.
  virtual void step_last(std::shared_ptr<Pollable> pollable) { drive(std::move(pollable)); }
};

}  // namespace holdfast::net
