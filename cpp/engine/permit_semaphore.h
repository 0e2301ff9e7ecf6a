#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/client.h"
#include "sync/operation/operation.h"
#include "sync/operation/synchronizer.h"
#include "sync/recipes/permit_semaphore.h"

namespace holdfast::engine {

// A client's semaphore with permits that have ids and expire, under one name: a factory of
// operations, each to be awaited by a thread or an event loop. A permit is identified by its id, 16
// bytes, and has no owner. Each method describes its Outcome::value.
class PermitSemaphore {
 public:
  struct AcquireArguments {
    OwnerNumber number;  // a fresh one for each attempt, that of the permit's id
    Lease lease;
    bool blocking = true;
    Duration timeout = kNever - TimePoint{};
    std::uint64_t listener = 0;  // receives the loss of the permit; 0: none
  };

  // The release of a permit that this client renews ends like that of a lock; of any other permit,
  // with `value` 1, or 0: it is not in use.
  struct PermitRelease {
    sync::ExchangePtr operation;
    bool renewed = false;
  };

  PermitSemaphore(std::shared_ptr<Client> client, const std::string& name);

  sync::ExchangePtr acquire(const AcquireArguments& given) const;
  std::string permit(OwnerNumber number) const;

  PermitRelease release(const std::string& permit) const;
  // 1, or 0: it is not in use.
  sync::ExchangePtr extend(const std::string& permit, Millis lease) const;
  sync::ExchangePtr try_set_permits(std::int64_t permits) const;  // 1, or 0: set before
  sync::ExchangePtr value() const;                                // the permits that are free
  sync::ExchangePtr remove() const;                               // 1, or 0: it was not there

 private:
  sync::ExchangePtr release_by_id(const std::string& permit) const;

  const std::shared_ptr<Client> client_;
  const LockName name_;
  // Its permits, of this client: those that it renews, or whose loss it reports, and those that it
  // leaves to the server.
  const sync::SynchronizerPtr renewed_;
  const sync::SynchronizerPtr leased_;
};

}  // namespace holdfast::engine
