#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "client/request.h"
#include "sync/recipe.h"

namespace holdfast::wait {

// The waiter to which a release of the same client hands its lock over, by a command whose answer
// follows by offer_answered(), offer_in_doubt() or on_failure(). Any thread.
class Heir {
 public:
  virtual ~Heir() = default;

  // False when the offer is not wanted any more; else `send` is called, with the heir's lock held:
  // a release, should the heir give up, stands behind the command.
  virtual bool accept_offer(const std::function<void()>& send) = 0;
  virtual void offer_answered(const sync::Answer& answer, const client::Sent& sent) = 0;
  // The command was refused when it was sent again: an earlier sending may have been executed.
  virtual void offer_in_doubt(const Status& why) = 0;
  virtual void on_failure(const Status& why) = 0;

  virtual std::string owner_field() const = 0;
  virtual Millis lease_time() const = 0;
  virtual const sync::Recipe& recipe() const = 0;
};

}  // namespace holdfast::wait
