#include "locks/engine/counter.h"

#include <utility>

#include "locks/sync/operation/acquire.h"
#include "locks/sync/operation/calls.h"

namespace holdfast::engine {

Counter::Counter(std::shared_ptr<Client> client, const sync::CounterKind& kind,
                 const std::string& name, std::int64_t its_setup)
    : setup(its_setup),
      client_(std::move(client)),
      kind_(kind),
      synchronizer_(std::make_shared<sync::Synchronizer>(
          kind.recipe, LockName(client_->options().name_prefix + name))) {}

sync::ExchangePtr Counter::acquire(std::int64_t amount, bool blocking, Duration timeout) const {
  sync::AcquireArguments arguments{};
  arguments.blocking = blocking;
  arguments.timeout = timeout;
  return acquire(amount, arguments);
}

sync::ExchangePtr Counter::wait(std::int64_t amount, const sync::CallersTime& time) const {
  sync::AcquireArguments arguments{};
  arguments.callers_time = time;
  return acquire(amount, arguments);
}

sync::ExchangePtr Counter::acquire(std::int64_t amount, sync::AcquireArguments arguments) const {
  auto context = client_->started();
  sync::CounterRequestPtr slot;
  if (kind_.recipe.taking != nullptr) slot = context->slots->take();
  arguments.owner = slot ? slot->slot : next_owner_number();
  arguments.lease = {slot ? sync::request_memory(*context) : Millis(0), false};
  sync::AcquireRequest request(synchronizer_, arguments);
  request.amount = amount;
  request.slot = std::move(slot);
  request.setup = setup.permits();
  return std::make_shared<sync::Acquire>(std::move(context), std::move(request));
}

sync::ExchangePtr Counter::call(std::string_view step, std::int64_t amount) const {
  // A counter that is gone is for the next acquire to set up, with all permits.
  const bool returns = step == "release" && setup.permits();
  const sync::CounterStep* const found = kind_.find(returns ? "release_if_exists" : step);
  if (found == nullptr) return nullptr;
  return sync::counter_call(client_->started(), synchronizer_->name, *found, amount);
}

sync::ExchangePtr Counter::value(bool late) const {
  return sync::counter_value(client_->started(), synchronizer_->name,
                             late ? client_->late() : sync::CallersTime());
}

}  // namespace holdfast::engine
