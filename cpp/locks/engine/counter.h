#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "locks/engine/client.h"
#include "locks/engine/permit_setup.h"
#include "locks/sync/operation/acquire_request.h"
#include "locks/sync/operation/operation.h"
#include "locks/sync/recipes/kinds.h"

namespace holdfast::engine {

// A counter of a client, under one name: a factory of operations. Its state is on the server; it
// has no owners.
class Counter {
 public:
  // `its_setup`: as sync::StepOptions.
  Counter(std::shared_ptr<Client> client, const sync::CounterKind& kind, const std::string& name,
          std::int64_t its_setup = -1);

  // Takes `amount`; of a latch: waits until it is open.
  sync::ExchangePtr acquire(std::int64_t amount, bool blocking, Duration timeout) const;
  // Takes `amount` as a part of a call that has this time.
  sync::ExchangePtr wait(std::int64_t amount, const sync::CallersTime& time) const;
  // A step of the kind; the header of its script describes the answer. Null: it has no such step.
  sync::ExchangePtr call(std::string_view step, std::int64_t amount) const;
  // Nil: it is not there. `late`: for a caller whose time is over.
  sync::ExchangePtr value(bool late) const;

  const PermitSetup setup;

 private:
  sync::ExchangePtr acquire(std::int64_t amount, sync::AcquireArguments arguments) const;

  const std::shared_ptr<Client> client_;
  const sync::CounterKind& kind_;
  const sync::SynchronizerPtr synchronizer_;
};

}  // namespace holdfast::engine
