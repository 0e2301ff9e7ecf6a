#pragma once

#include <memory>

#include "net/pollable.h"

namespace holdfast::net {

// The driver of Pollables that no thread waits for: an EventLoop, or a test that steps them by
// hand.
class Loop {
 public:
  virtual ~Loop() = default;

  // Steps `pollable` soon, and from then on whenever its interest comes true, until it says it is
  // done. Called again for one that is driven already (or whose last step is just ending): one more
  // step soon. The loop shares ownership while it drives. May be called from any thread, from
  // within a step() too, with whatever locks held: it calls no Pollable.
  virtual void drive(std::shared_ptr<Pollable> pollable) = 0;
};

}  // namespace holdfast::net
