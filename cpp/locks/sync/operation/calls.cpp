#include "locks/sync/operation/calls.h"

#include <algorithm>
#include <string>
#include <utility>

#include "locks/lease/overview.h"
#include "locks/sync/operation/query_operation.h"
#include "locks/sync/operation/release.h"
#include "lua_scripts.h"

namespace holdfast::sync {

ExchangePtr extend(std::shared_ptr<const Context> context, const HoldRecipe& recipe,
                   const LockName& name, OwnerNumber owner, Millis lease) {
  const auto keeper = context->keeper;
  const std::string field = owner_field(context->client_id, owner);
  const std::uint32_t number = keeper->begin_extension(name, owner, lease);
  return call_of(std::move(context),
                 {name,
                  [recipe = &recipe, name, field, lease](script::Writer& out) {
                    recipe->steps.extend.write(out, {name, field, 0, lease});
                  },
                  [keeper, name, owner, number, lease](std::optional<std::int64_t> value,
                                                       const client::Sent& sent) {
                    if (value == 1) {
                      keeper->extended(name, owner, {number, lease}, sent.last);
                    } else {
                      keeper->lose(name, owner, lease::kGoneAtExtension);
                    }
                  },
                  [keeper, name, owner] { return keeper->renewal_on_wire(name, owner); }});
}

ExchangePtr detach(std::shared_ptr<const Context> context, const HoldRecipe& recipe,
                   const LockName& name, OwnerNumber owner, Millis lease) {
  const auto keeper = context->keeper;
  std::string ticket = keeper->releases.begin_detach(name, owner, lease);
  if (ticket.empty()) return nullptr;
  const std::string field = owner_field(context->client_id, owner);
  Query query{name, [recipe = &recipe, name, field, ticket = std::move(ticket),
                     lease](script::Writer& out) {
                recipe->steps.move.write(out, {name, field, 1, lease, {}, ticket});
              }};
  query.answered = [keeper, name, owner](std::optional<std::int64_t> value,
                                         const client::Sent& /*sent*/) {
    if (!value) keeper->lose(name, owner, lease::kGone);
  };
  query.releases = Exchange::About{recipe.traits.kind, owner};
  return call_of(std::move(context), std::move(query));
}

ExchangePtr force_release(std::shared_ptr<const Context> context, const LockRecipe& recipe,
                          const LockName& name, OwnerNumber by) {
  const auto keeper = context->keeper;
  lease::excuse(*keeper, name, by, true);
  Query query = query_of(recipe.steps.force_release, name);
  query.answered = [keeper, name, by](std::optional<std::int64_t> value, const client::Sent& sent) {
    // The other side of a read-write lock may stay held.
    const bool removed = value == 1 || name.side() == Side::kWhole;
    removed ? lease::forced(*keeper, name, sent.last) : lease::excuse(*keeper, name, by, false);
  };
  return call_of(std::move(context), std::move(query));
}

ExchangePtr counter_call(std::shared_ptr<const Context> context, const LockName& name,
                         const CounterStep& step, std::int64_t amount) {
  const Millis memory = request_memory(*context);
  CounterRequestPtr request = context->slots->take();
  const OwnerNumber slot = request->slot;
  // The captures are made anew: those of constants could not be moved.
  auto write = [name = LockName(name), context, request = std::move(request), row = &step.row,
                memory, amount](script::Writer& out) {
    row->write(out, {name,
                     {context->client_id, request->slot},
                     0,
                     Millis(0),
                     {Millis(0), memory, amount, request->number}});
  };
  Answered answered;
  if (step.permits != CounterStep::Permits::kNone) {
    answered = [stats = context->stats, permits = step.permits, amount](
                   const std::optional<std::int64_t>& value, const client::Sent& /*sent*/) {
      const std::int64_t answer = value.value_or(0);
      if (permits == CounterStep::Permits::kTaken) {
        const std::int64_t taken = std::max<std::int64_t>(answer, 0);  // a drained debt takes none
        stats->add(Stats::Counter::kAcquired, taken);
        stats->add(Stats::Counter::kTaken, taken);
      } else if (permits == CounterStep::Permits::kGiven || answer == 1) {
        stats->add(Stats::Counter::kReleased, amount);
        stats->add(Stats::Counter::kTaken, -amount);
      }
    };
  }
  if (!step.completed) {
    return call_of(std::move(context), {name, std::move(write), std::move(answered)});
  }
  // The last sending must arrive while the server still has the first answer.
  return std::make_shared<StepRelease>(
      std::move(context), name, slot,
      StepRelease::Command{std::move(write), std::move(answered), memory / 2});
}

ExchangePtr counter_value(std::shared_ptr<const Context> context, const LockName& name,
                          const CallersTime& time) {
  Query query{name, [name](script::Writer& out) {
                out.call(script::lua::semaphore_value) << name.bytes();
              }};
  query.time = time;
  return call_of(std::move(context), std::move(query));
}

}  // namespace holdfast::sync
