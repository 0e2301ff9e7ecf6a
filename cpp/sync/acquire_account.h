#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "sync/acquire_machine.h"
#include "sync/acquire_request.h"
#include "sync/context.h"
#include "sync/pending_release.h"
#include "sync/recipe.h"

namespace holdfast::sync {

// The entries of one acquisition in its client's LeaseKeeper: that it is under way, its grant, and
// the releases that take back grants without a caller. Used with its operation's lock held.
class AcquireAccount {
 public:
  // All of them outlive it. `request` may get another slot, and with it another owner: take_slot().
  AcquireAccount(const std::shared_ptr<const Context>& context, const Recipe& recipe,
                 AcquireRequest& request);

  // The acquisition begins. False: another one of the owner's is under way.
  bool open();
  // It is of a lock, whose owner must not use it meanwhile.
  bool excludes() const { return recipe_.makes_holds() && !request_.part; }
  // Not begun: of the call that waits for it, which may end later. `request` outlives it.
  lease::Attempt call() const;
  // It was begun by a plain path.
  void adopt(lease::Attempt&& attempt) { attempt_.emplace(std::move(attempt), request_.name); }
  // Before each attempt.
  lease::AttemptPlan begin();
  // The server has answered the attempt that took over a release.
  void answered();

  // Records the grant. False, and nothing is recorded, when the client is being closed.
  bool keep(const AcquireMachine::Action& grant, bool counted);
  // The server does not have the owner's earlier holds.
  void lose();
  // The acquisition is over. No effect after keep() of a hold.
  void close();

  // Takes back possible grants of attempts, down to `remaining` holds.
  void take_back(int remaining);
  // Gives back the grant that was kept.
  void give_back();
  // The next attempt is another request: the one taken back keeps its slot.
  void take_slot();

 private:
  PendingRelease::Of release_to(int remaining) const;
  Millis longest_lease() const;

  const std::shared_ptr<const Context>& context_;
  const Recipe& recipe_;
  AcquireRequest& request_;  // of a lock, its name and owner stay
  std::optional<lease::Attempt> attempt_;
};

}  // namespace holdfast::sync
