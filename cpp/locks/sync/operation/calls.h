#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "locks/sync/operation/operation.h"
#include "locks/sync/recipes/counter.h"

namespace holdfast::sync {

// Calls with answers that change the client's record of its holds.

// Sets the owner's lease anew, from now on (even if it fails) without renewal; to be begun at once.
// Outcome::value: 1, or 0 when the server does not know the hold any more; then it is lost.
ExchangePtr extend(std::shared_ptr<const Context> context, const HoldRecipe& recipe,
                   const LockName& name, OwnerNumber owner, Millis lease);

// The first half of passing a hold on: gives it the field of a ticket, with that lease, counted
// from now, and (even if it fails) without renewal; to be begun at once. Null: the owner holds
// nothing. Outcome::value: not nil: Releases::end_detach() follows. Else the hold is lost. Without
// an answer it is left to its lease, for its owner to release, or to detach again.
ExchangePtr detach(std::shared_ptr<const Context> context, const HoldRecipe& recipe,
                   const LockName& name, OwnerNumber owner, Millis lease);

// Frees the lock, regardless of its owner. Outcome::value: 1 when it was held. `by`: whose call it
// is.
ExchangePtr force_release(std::shared_ptr<const Context> context, const LockRecipe& recipe,
                          const LockName& name, OwnerNumber by);

// Counters have no owner, so a repeated step looks like a second one. Therefore each step is a
// *request* with a number in a slot (RequestSlots), under whose id ("uuid:slot") the server keeps
// the number and the reply for a while: a repeat gets that reply and changes nothing. A late copy
// that arrives after the slot's next request changes nothing either.

// How long an answer is kept: longer than its request can be repeated.
inline Millis request_memory(const Context& context) { return 4 * context.command_timeout; }

// One request. Outcome::value: the step's answer.
ExchangePtr counter_call(std::shared_ptr<const Context> context, const LockName& name,
                         const CounterStep& step, std::int64_t amount = 0);

// GET. Outcome::value: the counter, or nil.
ExchangePtr counter_value(std::shared_ptr<const Context> context, const LockName& name,
                          const CallersTime& time = {});

}  // namespace holdfast::sync
