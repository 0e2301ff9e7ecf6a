#include "sync/counter.h"

#include <utility>

#include "sync/call_operation.h"

namespace holdfast::sync {

namespace {

std::shared_ptr<CallOperation> request(std::shared_ptr<const Context> context, const LockName& name,
                                       CounterStep step, std::int64_t amount,
                                       RequestSlots::RequestPtr in_slot) {
  const std::string id = owner_field(context->client_id, in_slot->slot);
  AcquireOptions acquire_options{Millis(0), request_memory(*context), amount};
  acquire_options.request = std::move(in_slot);
  return std::make_shared<CallOperation>(std::move(context), name, [=](script::Writer& out) {
    step(out, {name, id, 0, acquire_options.request_memory, acquire_options});
  });
}

}  // namespace

OperationPtr counter_call(std::shared_ptr<const Context> context, const LockName& name,
                          CounterStep step, std::int64_t amount) {
  RequestSlots::RequestPtr in_slot = context->slots->take();
  return request(std::move(context), name, step, amount, std::move(in_slot));
}

OperationPtr counter_return(std::shared_ptr<const Context> context, const LockName& name,
                            CounterStep step, std::int64_t amount) {
  // Its last sending must come before its first answer is forgotten.
  const Millis longer = request_memory(*context) / 2;
  const RequestSlots::RequestPtr in_slot = context->slots->take();
  const auto operation = request(std::move(context), name, step, amount, in_slot);
  operation->carry_through({in_slot->slot, longer});
  return operation;
}

OperationPtr counter_value(std::shared_ptr<const Context> context, const LockName& name) {
  return std::make_shared<CallOperation>(std::move(context), name, [name](script::Writer& out) {
    out.command({"GET", name.bytes()});
  });
}

}  // namespace holdfast::sync
