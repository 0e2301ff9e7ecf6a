#include "engine/count_down_latch.h"

#include <utility>

#include "sync/acquire_operation.h"
#include "sync/count_down_latch.h"

namespace holdfast::engine {

CountDownLatch::CountDownLatch(std::shared_ptr<Client> client, const std::string& name)
    : client_(std::move(client)), name_(client_->options().name_prefix + name) {}

sync::ExchangePtr CountDownLatch::wait(Duration timeout) const {
  auto context = client_->context();
  const TimePoint deadline = after(context->clock.now(), timeout);
  sync::AcquireRequest request{name_, next_owner_number(), {}};
  request.deadline = deadline;
  return std::make_shared<sync::AcquireOperation>(
      std::move(context), sync::count_down_latch_recipe(), std::move(request));
}

sync::ExchangePtr CountDownLatch::try_set_count(std::int64_t count) const {
  return sync::counter_call(client_->context(), name_, sync::try_set_count, count);
}

sync::ExchangePtr CountDownLatch::count_down() const {
  return sync::counter_return(client_->context(), name_, sync::count_down);
}

sync::ExchangePtr CountDownLatch::count() const {
  return sync::counter_value(client_->context(), name_);
}

sync::ExchangePtr CountDownLatch::remove() const {
  return sync::counter_call(client_->context(), name_, sync::delete_latch);
}

}  // namespace holdfast::engine
