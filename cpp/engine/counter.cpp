#include "engine/counter.h"

#include <utility>

#include "sync/acquire_operation.h"

namespace holdfast::engine {

Counter::Counter(std::shared_ptr<Client> client, const sync::CounterKind& kind,
                 const std::string& name)
    : client_(std::move(client)), kind_(kind), name_(client_->options().name_prefix + name) {}

sync::AcquireRequest Counter::request(const sync::Context& context, std::int64_t amount) const {
  if (!kind_.recipe.takes()) return {name_, next_owner_number(), {}};
  const Millis memory = sync::request_memory(context);
  sync::AcquireOptions options{Millis(0), memory, amount};
  options.request = context.slots->take();
  const OwnerNumber slot = options.request->slot;
  return {name_, slot, {memory, false}, true, kNever, 0, std::move(options)};
}

sync::ExchangePtr Counter::acquire(std::int64_t amount, bool blocking, Duration timeout) const {
  auto context = client_->context();
  sync::AcquireRequest wanted = request(*context, amount);
  wanted.blocking = blocking;
  wanted.deadline = after(context->clock.now(), timeout);
  return std::make_shared<sync::AcquireOperation>(std::move(context), kind_.recipe,
                                                  std::move(wanted));
}

sync::ExchangePtr Counter::call(std::string_view step, std::int64_t amount) const {
  const sync::CounterStep* const found = kind_.find(step);
  return found ? sync::counter_call(client_->context(), name_, *found, amount) : nullptr;
}

sync::ExchangePtr Counter::value() const { return sync::counter_value(client_->context(), name_); }

}  // namespace holdfast::engine
