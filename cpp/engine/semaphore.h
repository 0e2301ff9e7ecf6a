#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/client.h"
#include "sync/operation.h"

namespace holdfast::engine {

// A semaphore of a client, under one name: a factory of operations. Its state is on the server;
// permits have no owner.
class Semaphore {
 public:
  Semaphore(std::shared_ptr<Client> client, const std::string& name);

  sync::ExchangePtr acquire(std::int64_t permits, bool blocking, Duration timeout) const;
  sync::ExchangePtr release(std::int64_t permits) const;  // carried through; the permits free then
  // Below 0: takes away; the permits free then.
  sync::ExchangePtr add_permits(std::int64_t permits) const;
  sync::ExchangePtr try_set_permits(std::int64_t permits) const;  // 1, or 0: it was there
  sync::ExchangePtr drain_permits() const;                        // how many there were
  sync::ExchangePtr available_permits() const;                    // nothing: it is not there
  sync::ExchangePtr remove() const;                               // 1, or 0: it was not there

 private:
  const std::shared_ptr<Client> client_;
  const LockName name_;
};

}  // namespace holdfast::engine
