#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/client.h"
#include "sync/operation.h"

namespace holdfast::engine {

// A semaphore of a client, under one name: a maker of operations. It holds no state of its own;
// permits belong to nobody.
class Semaphore {
 public:
  using OperationPtr = std::shared_ptr<sync::Operation>;

  Semaphore(std::shared_ptr<Client> client, const std::string& name);

  OperationPtr acquire(std::int64_t permits, bool blocking, Duration timeout) const;
  OperationPtr release(std::int64_t permits) const;      // carried through; the permits free then
  OperationPtr add_permits(std::int64_t permits) const;  // below 0: take away; the permits free
  OperationPtr try_set_permits(std::int64_t permits) const;  // 1, or 0: it was there
  OperationPtr drain_permits() const;                        // how many there were
  OperationPtr available_permits() const;                    // nothing: it is not there
  OperationPtr remove() const;                               // 1, or 0: it was not there

 private:
  const std::shared_ptr<Client> client_;
  const LockName name_;
};

}  // namespace holdfast::engine
