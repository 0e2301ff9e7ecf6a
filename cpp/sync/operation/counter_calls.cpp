#include "sync/operation/counter_calls.h"

#include <string>
#include <utility>

#include "sync/operation/call_operation.h"

namespace holdfast::sync {

OperationPtr counter_call(std::shared_ptr<const Context> context, const LockName& name,
                          const CounterStep& step, std::int64_t amount) {
  const Millis memory = request_memory(*context);
  AcquireOptions options{Millis(0), memory, amount};
  options.request = context->slots->take();
  const OwnerNumber slot = options.request->slot;
  const std::string id = owner_field(context->client_id, slot);
  const auto operation = std::make_shared<CallOperation>(
      std::move(context), name, [=, write = step.write](script::Writer& out) {
        write(out, {name, id, 0, memory, options});
      });
  // The last sending must arrive while the server still has the first answer.
  if (step.completed) operation->carry_through({slot, memory / 2});
  return operation;
}

OperationPtr counter_value(std::shared_ptr<const Context> context, const LockName& name) {
  return std::make_shared<CallOperation>(std::move(context), name, [name](script::Writer& out) {
    out.command({"GET", name.bytes()}, script::kNumberReplies);
  });
}

}  // namespace holdfast::sync
