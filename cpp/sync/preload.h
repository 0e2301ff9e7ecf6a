#pragma once

#include "sync/context.h"
#include "sync/recipe.h"

namespace holdfast::sync {

// Makes all scripts of a kind known to the server that answers for `name`, without waiting: whoever
// finds one of them missing will need the others soon. A server that refuses is left alone: each
// script can still be sent with its text.
void preload(const Context& context, const Recipe& recipe, const LockName& name);

}  // namespace holdfast::sync
