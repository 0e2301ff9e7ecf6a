#pragma once

#include <memory>

#include "sync/operation/operation.h"
#include "sync/recipes/recipe.h"

namespace holdfast::sync {

// Calls with answers that change the client's record of its holds.

// Sets the owner's lease anew, from now on (even if it fails) without renewal; to be begun at once.
// Outcome::value: 1, or 0 when the server does not know the hold any more; then it is lost.
ExchangePtr extend(std::shared_ptr<const Context> context, const HoldRecipe& recipe,
                   const LockName& name, OwnerNumber owner, Millis lease);

// Frees the lock, regardless of its owner. Outcome::value: 1 when it was held. `by`: whose call it
// is.
ExchangePtr force_release(std::shared_ptr<const Context> context, const LockRecipe& recipe,
                          const LockName& name, OwnerNumber by);

}  // namespace holdfast::sync
