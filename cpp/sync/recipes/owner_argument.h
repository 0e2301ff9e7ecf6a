#pragma once

#include <string>

#include "base/types.h"

namespace holdfast::sync {

// Appends an owner to a command, as an argument in RESP, in the form in which the commands of a
// kind name it (Recipe::owner_argument()). Any thread.
using OwnerArgument = void (*)(std::string& out, const std::string& client_id, OwnerNumber owner);

// owner_field(): of all kinds but permits.
void append_field(std::string& out, const std::string& client_id, OwnerNumber owner);

}  // namespace holdfast::sync
