#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "locks/lease/attempt.h"
#include "locks/sync/operation/operation.h"
#include "locks/sync/operation/ticket.h"
#include "locks/sync/recipes/recipe.h"

namespace holdfast::sync {

// Gives a detached hold to a new owner (Steps::move): from the ticket's field to that of the owner,
// in any process. A repetition has the same effect, so it may be sent again after a lost reply. The
// first half is detach() (calls.h).
// Outcome::verdict: kGranted (held, and recorded with the keeper), kGone (the ticket is no longer
// valid), kFailed. If it fails, or its caller has left, the hold is returned to the ticket.
class AttachOperation final : public Operation {
 public:
  struct Recipient {
    OwnerNumber owner;
    Lease lease;
    std::uint64_t listener = 0;
  };
  // `ticket`: of the lock `name` of this recipe.
  AttachOperation(std::shared_ptr<const Context> context, const LockRecipe& recipe, LockName name,
                  Ticket ticket, const Recipient& recipient);

  About about() override { return {recipe_.traits.kind, recipient_.owner}; }
  // It may still be executed; it is not sent again.
  void cancel() override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

  // Returns the hold of `owner`, if it has it, to the ticket; does not wait for the answer.
  static void give_back(const std::shared_ptr<const Context>& context, const LockRecipe& recipe,
                        const LockName& name, const Ticket& ticket, OwnerNumber owner);

 private:
  bool begin(TimePoint now) override;
  void time_is_up(TimePoint now) override;
  void write(script::Writer& out) const override;
  void send() HOLDFAST_REQUIRES(mutex_);
  void failed(const Status& why) HOLDFAST_REQUIRES(mutex_);
  // Its caller gets no answer, and the step may have been executed.
  void unanswered() HOLDFAST_REQUIRES(mutex_);
  void over(Verdict verdict, const Status& why) HOLDFAST_REQUIRES(mutex_);

  const LockRecipe& recipe_;
  const Ticket ticket_;
  const Recipient recipient_;
  TimePoint give_up_ HOLDFAST_GUARDED_BY(mutex_) = kNever;
  bool cancelled_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::optional<lease::Attempt> attempt_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::sync
