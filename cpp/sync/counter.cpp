#include "sync/counter.h"

#include <algorithm>
#include <utility>

#include "sync/call_operation.h"

namespace holdfast::sync {

const CounterStep* CounterKind::find(std::string_view step) const {
  const auto is_it = [step](const CounterStep& each) { return each.word == step; };
  const auto found = std::find_if(steps.begin(), steps.end(), is_it);
  return found == steps.end() ? nullptr : &*found;
}

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
