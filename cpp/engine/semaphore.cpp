#include "engine/semaphore.h"

#include <utility>

#include "sync/acquire_operation.h"
#include "sync/semaphore.h"

namespace holdfast::engine {

Semaphore::Semaphore(std::shared_ptr<Client> client, const std::string& name)
    : client_(std::move(client)), name_(client_->options().name_prefix + name) {}

sync::ExchangePtr Semaphore::acquire(std::int64_t permits, bool blocking, Duration timeout) const {
  auto context = client_->context();
  const TimePoint deadline = after(context->clock.now(), timeout);
  const Millis memory = sync::request_memory(*context);
  sync::AcquireOptions acquire_options{Millis(0), memory, permits};
  acquire_options.request = context->slots->take();
  const OwnerNumber slot = acquire_options.request->slot;
  return std::make_shared<sync::AcquireOperation>(
      std::move(context), sync::semaphore_recipe(),
      sync::AcquireRequest{
          name_, slot, {memory, false}, blocking, deadline, 0, std::move(acquire_options)});
}

sync::ExchangePtr Semaphore::release(std::int64_t permits) const {
  return sync::counter_return(client_->context(), name_, sync::add_permits, permits);
}

sync::ExchangePtr Semaphore::add_permits(std::int64_t permits) const {
  return sync::counter_call(client_->context(), name_, sync::add_permits, permits);
}

sync::ExchangePtr Semaphore::try_set_permits(std::int64_t permits) const {
  return sync::counter_call(client_->context(), name_, sync::try_set_permits, permits);
}

sync::ExchangePtr Semaphore::drain_permits() const {
  return sync::counter_call(client_->context(), name_, sync::drain_permits);
}

sync::ExchangePtr Semaphore::available_permits() const {
  return sync::counter_value(client_->context(), name_);
}

sync::ExchangePtr Semaphore::remove() const {
  return sync::counter_call(client_->context(), name_, sync::delete_semaphore);
}

}  // namespace holdfast::engine
