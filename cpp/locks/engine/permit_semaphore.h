#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "locks/engine/client.h"
#include "locks/engine/permit_setup.h"
#include "locks/sync/operation/operation.h"
#include "locks/sync/operation/synchronizer.h"
#include "locks/sync/recipes/permit_semaphore.h"

namespace holdfast::engine {

// A client's semaphore with permits that have ids and expire, under one name: a factory of
// operations, each to be awaited by a thread or an event loop. A permit is identified by its id, 16
// bytes, and has no owner. Each method describes its Outcome::value.
class PermitSemaphore {
 public:
  // `its_setup`: as sync::StepOptions. `purpose`: of its acquires.
  PermitSemaphore(std::shared_ptr<Client> client, const sync::PermitKind& kind,
                  const std::string& name, std::int64_t its_setup = -1, Purpose purpose = {});

  // The owner: the number of the permit's id, a fresh one for each attempt.
  sync::ExchangePtr acquire(sync::AcquireArguments arguments) const;
  // Whether the next acquire is sent at once, as no waiter of this client is ahead.
  bool idle() const;
  std::string permit(OwnerNumber number) const;

  // The release of a permit that this client renews ends like that of a lock; that of any other
  // permit with `value` 1, or 0: it is not in use.
  sync::ExchangePtr release(const std::string& permit) const;
  // Several permits, all or none. `value`: their number, or the place of one that is not in use,
  // counted from -1 down. leave() follows where its caller does not get the answer: it goes on, and
  // what it does not release expires. Where one of them is known to be lost, that is the answer,
  // once, and there is nothing to send.
  using Permits = std::vector<std::string>;
  struct Lost {
    std::size_t place;
    OwnerNumber owner;
    std::string reason;
  };
  std::variant<sync::ExchangePtr, Lost> release_many(const Permits& permits) const;
  void leave(const Permits& permits) const;
  // A permit that this client has taken is known to be gone, by its clock at the latest.
  bool known_lost(const std::string& permit) const;

  // 1, or 0: it is not in use. That of a permit of this client is like that of a lock: see
  // sync::extend().
  sync::ExchangePtr extend(const std::string& permit, Millis lease) const;
  sync::ExchangePtr try_set_permits(std::int64_t permits) const;  // 1, or 0: set before
  sync::ExchangePtr set_permits(std::int64_t permits) const;
  sync::ExchangePtr add_permits(std::int64_t permits) const;
  // The permits that are free. `late`: for a caller whose time is over.
  sync::ExchangePtr value(bool late) const;
  sync::ExchangePtr permits() const;  // all permits
  sync::ExchangePtr acquired_permits() const;
  // ms until it expires, -1: it never does; nil: it is not in use.
  sync::ExchangePtr lease_left(const std::string& permit) const;
  sync::ExchangePtr remove() const;  // 1, or 0: it was not there

  const PermitSetup setup;

 private:
  sync::ExchangePtr query(const sync::Row& row, const sync::CallersTime& time = {}) const;
  lease::Releases::Owners owners_of(const Permits& permits) const;

  const std::shared_ptr<Client> client_;
  const sync::PermitKind& kind_;
  const LockName name_;
  // Its permits, of this client: those that it renews, or whose loss it reports, and those that it
  // leaves to the server.
  const sync::SynchronizerPtr renewed_;
  const sync::SynchronizerPtr leased_;
};

}  // namespace holdfast::engine
