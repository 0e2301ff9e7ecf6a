#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lease/lease_keeper.h"
#include "sync/operation/acquire_request.h"
#include "sync/operation/operation.h"

namespace holdfast::engine {

// The interface of a single lock and of a lock made of several: a factory of exchanges with the
// servers, each to be awaited by a thread or an event loop.
class Lockable {
 public:
  using AcquireArguments = sync::AcquireArguments;

  virtual ~Lockable() = default;

  virtual sync::ExchangePtr acquire(const AcquireArguments& arguments) const = 0;
  virtual sync::ExchangePtr release(OwnerNumber owner, bool all) const = 0;
  // Releases one hold; for kinds that support it, the caller of a last release does not wait for
  // the answer.
  virtual sync::ExchangePtr release_deferred(OwnerNumber owner) const {
    return release(owner, false);
  }
  // Releases the hold of a `with` block that ends. Of one that lost its grant: kGone, and nothing
  // is released.
  virtual sync::ExchangePtr end_block(OwnerNumber owner, bool deferred) const = 0;
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
  // The leases of the owner's nested holds, the outermost first.
  virtual std::vector<Lease> known_levels(OwnerNumber owner) const = 0;
  // Owners of the same client that hold it, or have ended while they did.
  virtual std::vector<lease::Holder> known_owners() const = 0;
  virtual bool known_lost(OwnerNumber owner) const = 0;
  // Why it was lost; empty if known_lost() is false.
  virtual std::optional<std::string> known_loss(OwnerNumber owner) const = 0;
  virtual std::optional<Duration> known_left(OwnerNumber owner) const = 0;

  // The last refusal was by a key that never expires: another program wrote it.
  virtual bool foreign() const = 0;

  // After a granted attempt: no further loss is reported to it.
  virtual void forget_listener(OwnerNumber owner, std::uint64_t listener) const = 0;
};

}  // namespace holdfast::engine
