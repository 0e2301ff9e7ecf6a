#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "client/request.h"
#include "sync/recipes/recipe.h"

namespace holdfast::wait {

// The waiter to which a release of the same client hands its lock over by a command. Any thread.
class NextWaiter {
 public:
  // The owner and the lease that the command asks for, and the kind whose script it is.
  struct Terms {
    std::string owner_field;
    Millis lease;
    const sync::Recipe& recipe;
  };

  virtual ~NextWaiter() = default;

  // False if the waiter no longer needs it. Otherwise calls `send` with the next waiter's lock
  // held, so that a release, if the next waiter gives up, stands behind the command.
  virtual bool accept_offer(const std::function<void()>& send) = 0;
  // Then, once: the command was answered so; refused (kHeld: never executed, else with the reason
  // in `why`: an earlier sending may have been executed), or not answered at all: on_failure().
  virtual void offer_answered(const sync::Answer& answer, const client::Sent& sent,
                              const Status& why) = 0;
  virtual void on_failure(const Status& why) = 0;
  virtual Terms terms() const = 0;
};

}  // namespace holdfast::wait
