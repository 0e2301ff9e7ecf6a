#pragma once

#include <optional>

#include "redis/client/request.h"
#include "redis/resp/reply.h"

namespace holdfast::client {

// A server without a command that a script calls, as one that was renamed, says on which line of
// the script that is, not which command. The error with its name; nothing: it is another error.
std::optional<resp::Reply> named_unknown_command(const Request& request, const resp::Reply& error);

}  // namespace holdfast::client
