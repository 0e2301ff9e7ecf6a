#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/client.h"
#include "sync/operation.h"

namespace holdfast::engine {

// A latch of a client, under one name: a factory of operations. Its state is on the server.
class CountDownLatch {
 public:
  CountDownLatch(std::shared_ptr<Client> client, const std::string& name);

  sync::ExchangePtr wait(Duration timeout) const;
  sync::ExchangePtr try_set_count(std::int64_t count) const;  // 1, or 0: it had one
  sync::ExchangePtr count_down() const;  // carried through; the count that is left
  sync::ExchangePtr count() const;       // nothing: it is open
  sync::ExchangePtr remove() const;      // 1, or 0: it was not there

 private:
  const std::shared_ptr<Client> client_;
  const LockName name_;
};

}  // namespace holdfast::engine
