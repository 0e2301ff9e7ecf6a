#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "resp/reply.h"

namespace holdfast::resp {

// A reply that is no more than nil or an integer.
struct PlainReply {
  std::optional<std::int64_t> integer;  // nothing: nil
};

// The one that these bytes are, wholly and alone; nothing for any others.
std::optional<PlainReply> plain_reply(const char* bytes, std::size_t size);

// The same of a reply that was read already; nothing for errors, strings and arrays.
std::optional<PlainReply> plain_reply(const Reply& reply);

// As the Reader would have read it.
Reply to_reply(const PlainReply& plain);

}  // namespace holdfast::resp
