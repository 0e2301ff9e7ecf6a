#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "locks/engine/client.h"
#include "locks/lease/keeper.h"
#include "locks/sync/operation/acquire_request.h"
#include "locks/sync/operation/attach_operation.h"
#include "locks/sync/operation/hold_release.h"
#include "locks/sync/operation/operation.h"
#include "locks/sync/operation/ticket.h"
#include "locks/sync/recipes/recipe.h"

namespace holdfast::engine {

// The interface of a single lock and of a lock made of several: a factory of exchanges with the
// servers, each to be awaited by a thread or an event loop.
class Lockable {
 public:
  using AcquireArguments = sync::AcquireArguments;

  virtual ~Lockable() = default;

  virtual sync::ExchangePtr acquire(const AcquireArguments& arguments) const = 0;
  // Releases one hold, unless `all`.
  struct ReleaseMode {
    bool all = false;
    // For kinds that support it: the caller of a last release does not wait for the answer.
    bool deferred = false;
    // The hold of a `with` block that ends. Of one that lost its grant: kGone, and nothing is
    // released.
    bool block = false;
  };
  virtual sync::ExchangePtr release(OwnerNumber owner, ReleaseMode how) const = 0;
  virtual sync::ExchangePtr extend(OwnerNumber owner, Millis lease) const = 0;  // 1, or 0: not held
  // 1, or 0: it was free. `by`: whose call it is.
  virtual sync::ExchangePtr force_release(OwnerNumber by) const = 0;
  virtual sync::ExchangePtr locked() const = 0;  // 1, or 0
  virtual sync::ExchangePtr hold_count(OwnerNumber owner) const = 0;
  virtual sync::ExchangePtr ttl() const = 0;  // ms; -1: without limit; -2: it is free

  // From the client's memory, without a command to the server.
  // A failure while the owner is acquiring it: whatever changes its holds would be refused.
  virtual Status may_use(OwnerNumber owner) const = 0;
  virtual int known_count(OwnerNumber owner) const = 0;
  virtual lease::Known known(OwnerNumber owner) const = 0;
  // Owners of the same client that hold it, or have ended while they did.
  virtual std::vector<lease::Holder> known_owners() const = 0;

  // The last refusal was by a key that never expires: another program wrote it.
  virtual bool foreign() const = 0;

  // After a granted attempt: no further loss is reported to it.
  virtual void forget_listener(OwnerNumber owner, std::uint64_t listener) const = 0;
};

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

  const LockName& name() const { return synchronizer_->name; }
  Client& client() const { return *client_; }
  // The one that has its commands now.
  std::shared_ptr<client::Connection> connection() const;
  // As sync::Synchronizer::idle().
  bool idle(OwnerNumber owner) const {
    const sync::Context& context = *client_->context();
    return synchronizer_->idle(context, owner, context.clock.now());
  }
  // Whether both have the same owners.
  bool same_as(const Lock& other) const {
    return client_ == other.client_ && name() == other.name();
  }

  sync::ExchangePtr acquire(const AcquireArguments& arguments) const override;
  sync::ExchangePtr release(OwnerNumber owner, ReleaseMode how) const override {
    using Which = lease::Ending::How;
    return release({owner, {how.all ? Which::kAll : Which::kInnermost}, how.deferred, how.block});
  }
  sync::ExchangePtr release(const sync::HoldRelease::Order& order) const;
  // Releases it in the background, for a caller that does not wait. Holds that stay are said to the
  // server by what their owner does next.
  void release_unawaited(const sync::HoldRelease::Order& order) const;
  // From now on the owner's hold is not renewed: it ends with its lease.
  void leave_to_lease(OwnerNumber owner) const;
  sync::ExchangePtr extend(OwnerNumber owner, Millis lease) const override;
  sync::ExchangePtr force_release(OwnerNumber by) const override;
  sync::ExchangePtr locked() const override;
  sync::ExchangePtr hold_count(OwnerNumber owner) const override;
  sync::ExchangePtr ttl() const override;

  Status may_use(OwnerNumber owner) const override;
  int known_count(OwnerNumber owner) const override;
  lease::Known known(OwnerNumber owner) const override;
  std::vector<lease::Holder> known_owners() const override;
  bool foreign() const override { return synchronizer_->foreign; }
  void forget_listener(OwnerNumber owner, std::uint64_t listener) const override;
  // The two halves of passing a hold on to another process, and the ticket: see
  // locks/sync/operation/calls.h and attach_operation.h. After a detach() that was granted,
  // end_detach() follows.
  sync::ExchangePtr detach(OwnerNumber owner, Millis lease) const;
  // Ends the hold, and returns its ticket; empty if it has been lost.
  std::string end_detach(OwnerNumber owner) const;
  sync::ExchangePtr attach(const sync::Ticket& ticket,
                           const sync::AttachOperation::Recipient& recipient) const;
  // Returns a hold that an owner got by a ticket to the ticket; does not wait for the answer.
  void give_back(const sync::Ticket& ticket, OwnerNumber owner) const;
  // The kind's word in a ticket; empty: its holds cannot be detached.
  std::string_view movable_as() const;

  // The owner whose acquire has begun to wait last; 0: none so far.
  OwnerNumber waiter() const { return synchronizer_->waiter; }
  int known_reads(OwnerNumber owner) const;  // holds of the read side of this name

  // Suppresses the report of a loss: any; to the owner's next acquire.
  void forget_loss(OwnerNumber owner) const;
  void forget_loss_in_acquire(OwnerNumber owner) const;

 private:
  const sync::LockRecipe& recipe() const {
    return static_cast<const sync::LockRecipe&>(synchronizer_->recipe);
  }

  const std::shared_ptr<Client> client_;
  const sync::SynchronizerPtr synchronizer_;
};

// A lock of the kind with this word (locks/sync/recipes/kinds.h); null: there is none.
std::shared_ptr<Lock> new_lock(std::shared_ptr<Client> client, std::string_view word,
                               const std::string& name, const sync::AcquireOptions& options);

}  // namespace holdfast::engine
