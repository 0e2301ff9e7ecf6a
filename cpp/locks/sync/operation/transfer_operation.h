#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "locks/lease/attempt.h"
#include "locks/sync/operation/operation.h"
#include "locks/sync/operation/ticket.h"
#include "locks/sync/recipes/recipe.h"

namespace holdfast::sync {

// A step that gives the hold of one owner to another (Steps::move), so that processes can pass a
// hold on. A repetition has the same effect, so it may be sent again after a lost reply.
class TransferOperation : public Operation {
 public:
  // The owners' fields.
  struct Transfer {
    std::string from;
    std::string to;
    Millis lease{0};
  };

  // It may still be executed; it is not sent again.
  void cancel() final;

  void write(script::Writer& out) const final;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) final;

 protected:
  TransferOperation(std::shared_ptr<const Context> context, const LockRecipe& recipe, LockName name,
                    Role role)
      : Operation(std::move(context), std::move(name), role), recipe_(recipe) {}

  virtual void begin_move() HOLDFAST_EXCLUDES(mutex_) = 0;
  // All with mutex_ held.
  void move(Transfer transfer) HOLDFAST_REQUIRES(mutex_);
  // `to` holds the lock; `remaining`: of its lease before, negative if not known.
  virtual void moved(Millis remaining, const client::Sent& sent) HOLDFAST_REQUIRES(mutex_) = 0;
  virtual void not_there() HOLDFAST_REQUIRES(mutex_) = 0;  // neither owner holds it
  // Its caller gets no answer, and the step may have been executed.
  virtual void unanswered() HOLDFAST_REQUIRES(mutex_) {}
  // The answer has arrived, but its caller never gets it.
  virtual void taken_back() HOLDFAST_REQUIRES(mutex_) {}

  const LockRecipe& recipe() const { return recipe_; }
  const Transfer& transfer() const { return transfer_; }

 private:
  bool begin(TimePoint /*now*/) final {
    begin_move();
    return false;
  }
  void time_is_up(TimePoint now) final;
  void send() HOLDFAST_REQUIRES(mutex_);
  void refused(std::string_view text) HOLDFAST_REQUIRES(mutex_);
  void failed(const Status& why) HOLDFAST_REQUIRES(mutex_);

  const LockRecipe& recipe_;
  Transfer transfer_;
  TimePoint give_up_ HOLDFAST_GUARDED_BY(mutex_) = kNever;
  bool cancelled_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

// The first half, in the owner's process: from the owner's field to that of a ticket.
// Outcome::verdict: kGranted (moved), kBusy (the caller holds nothing), kGone (its hold was lost;
// `why` says how), kFailed. After kGranted, Releases::end_detach() follows. Else the hold is left
// to its lease, for its owner to release: see Releases::begin_detach().
class DetachOperation final : public TransferOperation {
 public:
  DetachOperation(std::shared_ptr<const Context> context, const LockRecipe& recipe, LockName name,
                  OwnerNumber owner, Millis lease);

  About about() override;

 private:
  void begin_move() override;
  void moved(Millis remaining, const client::Sent& sent) HOLDFAST_REQUIRES(mutex_) override;
  void not_there() HOLDFAST_REQUIRES(mutex_) override;

  const OwnerNumber owner_;
  const Millis lease_;
};

// The second half, in any process: from the ticket's field to that of a new owner.
// Outcome::verdict: kGranted (held, and recorded with the keeper), kGone (the ticket is no longer
// valid), kFailed. If it fails, or its caller has left, the hold is returned to the ticket.
class AttachOperation final : public TransferOperation {
 public:
  struct Recipient {
    OwnerNumber owner;
    Lease lease;
    std::uint64_t listener = 0;
  };
  // `ticket`: of the lock `name` of this recipe.
  AttachOperation(std::shared_ptr<const Context> context, const LockRecipe& recipe, LockName name,
                  Ticket ticket, const Recipient& recipient);

  About about() override { return {recipe().kind(), recipient_.owner}; }

  // Returns the hold of `owner`, if it has it, to the ticket; does not wait for the answer.
  static void give_back(const std::shared_ptr<const Context>& context, const LockRecipe& recipe,
                        const LockName& name, const Ticket& ticket, OwnerNumber owner);

 private:
  void begin_move() override;
  void moved(Millis remaining, const client::Sent& sent) HOLDFAST_REQUIRES(mutex_) override;
  void not_there() HOLDFAST_REQUIRES(mutex_) override;
  void unanswered() HOLDFAST_REQUIRES(mutex_) override;
  void taken_back() HOLDFAST_REQUIRES(mutex_) override;
  void closed() HOLDFAST_REQUIRES(mutex_);
  void over() HOLDFAST_REQUIRES(mutex_);

  const Ticket ticket_;
  const Recipient recipient_;
  std::optional<lease::Attempt> attempt_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::sync
