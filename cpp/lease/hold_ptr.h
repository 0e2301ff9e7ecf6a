#pragma once

#include "base/ref.h"

namespace holdfast::lease {

class Hold;

void add_reference(Hold& hold);
void drop_reference(Hold& hold);

// Shared by what has something to do with a hold: the table, the ledger, and renewals under way.
using HoldPtr = Ref<Hold>;

}  // namespace holdfast::lease
