#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/client.h"
#include "sync/operation.h"

namespace holdfast::engine {

// A latch of a client, under one name: a maker of operations, without a state of its own.
class CountDownLatch {
 public:
  using OperationPtr = std::shared_ptr<sync::Operation>;

  CountDownLatch(std::shared_ptr<Client> client, const std::string& name);

  OperationPtr wait(Duration timeout) const;
  OperationPtr try_set_count(std::int64_t count) const;  // 1, or 0: it had one
  OperationPtr count_down() const;                       // carried through; the count that is left
  OperationPtr count() const;                            // nothing: it is open
  OperationPtr remove() const;                           // 1, or 0: it was not there

 private:
  const std::shared_ptr<Client> client_;
  const LockName name_;
};

}  // namespace holdfast::engine
