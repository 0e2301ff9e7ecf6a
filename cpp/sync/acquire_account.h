#pragma once

#include <memory>

#include "sync/acquire_machine.h"
#include "sync/acquire_request.h"
#include "sync/context.h"
#include "sync/pending_release.h"
#include "sync/recipe.h"

namespace holdfast::sync {

// What one acquisition has in the books of its client's LeaseKeeper: that it is under way, its
// grant, and the releases that take back what was granted to no caller. Used with its operation's
// lock held.
class AcquireAccount {
 public:
  // All of them outlive it. `request` may get another slot, and with it another owner: take_slot().
  AcquireAccount(const std::shared_ptr<const Context>& context, const Recipe& recipe,
                 AcquireRequest& request);

  // An attempt is about to be made, the first one or another.
  lease::AttemptPlan begin();
  // PlainLock has begun the first one.
  void adopt() { begun_ = true; }
  // The server has answered the attempt that took over a release.
  void answered();

  // Records the grant. False, and nothing is recorded, when the client is being closed.
  bool keep(const AcquireMachine::Action& grant, bool counted);
  // The server does not have the owner's earlier holds.
  void lose();
  // The acquisition is over; after keep() of a hold: nothing.
  void close();

  // Takes back what attempts may have been granted, down to `remaining` holds.
  void take_back(int remaining);
  // Gives back the grant that was kept.
  void give_back();
  // The next attempt is another request: what has been taken back keeps its slot.
  void take_slot();

 private:
  PendingRelease::Of release_to(int remaining) const;
  Millis longest_lease() const;

  const std::shared_ptr<const Context>& context_;
  const Recipe& recipe_;
  AcquireRequest& request_;
  bool begun_ = false;  // the keeper counts this acquisition
};

}  // namespace holdfast::sync
