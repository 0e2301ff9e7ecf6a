#pragma once

#include <cstddef>
#include <optional>

#include "resp/reply.h"

namespace holdfast::resp {

// The one that these bytes are, wholly and alone; nothing for any others.
std::optional<PlainReply> plain_reply(const char* bytes, std::size_t size);

// The same of a reply that was read already; nothing for errors, strings and arrays.
std::optional<PlainReply> plain_reply(const Reply& reply);

}  // namespace holdfast::resp
