#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/client.h"
#include "engine/lockable.h"
#include "sync/operation.h"
#include "sync/plain_lock.h"
#include "sync/plain_task.h"
#include "sync/recipe.h"
#include "sync/ticket.h"
#include "sync/transfer_operation.h"

namespace holdfast::engine {

// A lock of a client, under one name: a factory of operations, each to be awaited by a thread or an
// event loop. It has no state: holds belong to owners.
class Lock : public Lockable {
 public:
  // The options of one lock object.
  struct Options {
    Side side = Side::kWhole;
    sync::AcquireOptions acquire_options{};
  };
  Lock(std::shared_ptr<Client> client, const sync::LockRecipe& recipe, const std::string& name,
       const Options& options = {Side::kWhole, {}});

  const LockName& name() const { return name_; }
  Client& client() const { return *client_; }
  // Whether both have the same owners.
  bool same_as(const Lock& other) const { return client_ == other.client_ && name_ == other.name_; }

  sync::ExchangePtr acquire(const Attempt& attempt) const override {
    return acquire_operation(attempt);
  }
  sync::ExchangePtr release(OwnerNumber owner, bool all) const override {
    return release_operation(owner, all);
  }
  sync::ExchangePtr acquire_for_task(const Attempt& attempt) const override;
  sync::ExchangePtr release_for_task(OwnerNumber owner) const override;
  sync::Waited acquire_and_wait(const Attempt& attempt, sync::Interrupt* interrupt) const override;
  sync::Waited release_and_wait(OwnerNumber owner, bool all,
                                sync::Interrupt* interrupt) const override;
  sync::Waited release_deferred_and_wait(OwnerNumber owner,
                                         sync::Interrupt* interrupt) const override;
  void give_back(const Attempt& attempt) const override;
  sync::ExchangePtr release_deferred(OwnerNumber owner) const override;
  sync::ExchangePtr extend(OwnerNumber owner, Millis lease) const override {
    return extend_operation(owner, lease);
  }
  sync::ExchangePtr force_release() const override { return force_release_operation(); }
  sync::ExchangePtr locked() const override { return locked_operation(); }
  sync::ExchangePtr hold_count(OwnerNumber owner) const override {
    return hold_count_operation(owner);
  }
  sync::ExchangePtr ttl() const override { return ttl_operation(); }

  // The same as operations: those of several locks can be waited for side by side (Quorum).
  sync::OperationPtr acquire_operation(const Attempt& attempt) const;
  sync::OperationPtr release_operation(OwnerNumber owner, bool all) const;
  sync::OperationPtr extend_operation(OwnerNumber owner, Millis lease) const;
  sync::OperationPtr force_release_operation() const;
  sync::OperationPtr locked_operation() const;
  sync::OperationPtr hold_count_operation(OwnerNumber owner) const;
  sync::OperationPtr ttl_operation() const;

  Status may_use(OwnerNumber owner) const override;
  int known_count(OwnerNumber owner) const override;
  std::vector<Lease> known_levels(OwnerNumber owner) const override;
  std::vector<lease::LeaseKeeper::Holder> known_owners() const override;
  bool known_lost(OwnerNumber owner) const override;
  std::optional<std::string> known_loss(OwnerNumber owner) const override;
  std::optional<Duration> known_left(OwnerNumber owner) const override;
  void forget_listener(OwnerNumber owner, std::uint64_t listener) const override;
  // The two halves of passing a hold on to another process, and the ticket: see
  // sync/transfer_operation.h. After detach(), end_detach() has to follow.
  sync::ExchangePtr detach(OwnerNumber owner, Millis lease) const;
  // The ticket of a hold that is being detached; empty if there is none, or if it has been lost.
  std::string ticket(OwnerNumber owner) const;
  void end_detach(OwnerNumber owner, bool done) const;
  sync::ExchangePtr attach(const sync::Ticket& ticket,
                           const sync::AttachOperation::Heir& heir) const;
  // Returns a hold that an owner got by a ticket to the ticket; does not wait for the answer.
  void give_back(const sync::Ticket& ticket, OwnerNumber owner) const;
  // The kind's word in a ticket; empty: its holds cannot be detached.
  std::string_view movable_as() const;

  int known_reads(OwnerNumber owner) const;  // of the read side of this name
  std::optional<std::int64_t> known_token(OwnerNumber owner) const;

  // Suppresses the report of a loss.
  void forget_loss(OwnerNumber owner) const;

 private:
  using ContextPtr = std::shared_ptr<const sync::Context>;
  std::shared_ptr<sync::ReleaseOperation> new_release(ContextPtr context,
                                                      sync::ReleaseOperation::What what) const;
  std::shared_ptr<sync::AcquireOperation> attempt_at(TimePoint begun, ContextPtr context,
                                                     const Attempt& attempt) const;

  const std::shared_ptr<Client> client_;
  const sync::LockRecipe& recipe_;
  const LockName name_;
  const sync::AcquireOptions acquire_options_;
  // For a client of threads, and of tasks; unset if the kind or the options do not allow it.
  std::optional<sync::PlainLock> plain_;
  std::shared_ptr<const sync::PlainTaskLock> plain_task_;
};

// A lock of the kind with this word (sync/kinds.h); null: there is none.
std::shared_ptr<Lock> new_lock(std::shared_ptr<Client> client, std::string_view word,
                               const std::string& name, const sync::AcquireOptions& options);

}  // namespace holdfast::engine
