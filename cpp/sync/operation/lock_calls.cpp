#include "sync/operation/lock_calls.h"

#include <utility>

#include "sync/operation/query_operation.h"

namespace holdfast::sync {

ExchangePtr extend(std::shared_ptr<const Context> context, const HoldRecipe& recipe,
                   const LockName& name, OwnerNumber owner, Millis lease) {
  const auto keeper = context->keeper;
  const std::string field = owner_field(context->client_id, owner);
  const std::uint32_t number = keeper->transfers().begin_extension(name, owner, lease);
  return call_of(std::move(context),
                 {name,
                  [recipe = &recipe, name, field, lease](script::Writer& out) {
                    recipe->steps().extend.write(out, {name, field, 0, lease});
                  },
                  [keeper, name, owner, number, lease](std::optional<std::int64_t> value,
                                                       const client::Sent& sent) {
                    if (value == 1) {
                      keeper->transfers().extended(name, owner, {number, lease}, sent.last);
                    } else {
                      keeper->lose(name, owner, lease::kGoneAtExtension);
                    }
                  },
                  [keeper, name, owner] { return keeper->renewal_on_wire(name, owner); }});
}

ExchangePtr force_release(std::shared_ptr<const Context> context, const LockRecipe& recipe,
                          const LockName& name, OwnerNumber by) {
  const auto keeper = context->keeper;
  keeper->begin_force(name, by);
  Query query = query_of(recipe.steps().force_release, name);
  query.answered = [keeper, name, by](std::optional<std::int64_t> value, const client::Sent& sent) {
    // The other side of a read-write lock may stay held.
    const bool removed = value == 1 || name.side() == Side::kWhole;
    removed ? keeper->forced(name, sent.last) : keeper->forced_nothing(name, by);
  };
  return call_of(std::move(context), std::move(query));
}

}  // namespace holdfast::sync
