#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "client/request.h"
#include "sync/recipes/recipe.h"

namespace holdfast::wait {

// The waiter to which a release of the same client hands its lock over by a command. The answer
// follows by offer_answered(), offer_in_doubt() or on_failure(). Any thread.
class NextWaiter {
 public:
  virtual ~NextWaiter() = default;

  // False if the waiter no longer needs it. Otherwise calls `send` with the next waiter's lock
  // held, so that a release, if the next waiter gives up, stands behind the command.
  virtual bool accept_offer(const std::function<void()>& send) = 0;
  virtual void offer_answered(const sync::Answer& answer, const client::Sent& sent) = 0;
  // A repetition of the command was refused: an earlier sending may have been executed.
  virtual void offer_in_doubt(const Status& why) = 0;
  virtual void on_failure(const Status& why) = 0;

  virtual std::string owner_field() const = 0;
  virtual Millis lease_time() const = 0;
  virtual const sync::Recipe& recipe() const = 0;
};

}  // namespace holdfast::wait
