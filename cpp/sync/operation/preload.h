#pragma once

#include "sync/operation/context.h"
#include "sync/recipes/recipe.h"

namespace holdfast::sync {

// Loads all scripts of a kind on the server of `name`, without waiting: when one of them is
// missing, the others will be needed soon. A refusal has no effect: each script can still be sent
// with its text.
void preload(const Context& context, const Recipe& recipe, const LockName& name);

}  // namespace holdfast::sync
