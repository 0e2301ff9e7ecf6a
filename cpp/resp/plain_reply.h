#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "resp/reply.h"

namespace holdfast::resp {

// The one at the beginning of these bytes, and how many of them it is; 0: there is none that is
// complete, or it is another reply.
struct PlainBeginning {
  PlainReply reply{};
  std::size_t size = 0;
};
PlainBeginning plain_beginning(std::string_view bytes);

// The one that these bytes are, wholly and alone; nothing for any others.
inline std::optional<PlainReply> plain_reply(std::string_view bytes) {
  const PlainBeginning beginning = plain_beginning(bytes);
  if (beginning.size == 0 || beginning.size != bytes.size()) return std::nullopt;
  return beginning.reply;
}

// The same of a reply that was read already; nothing for errors, long texts, statuses and
// arrays.
std::optional<PlainReply> plain_reply(const Reply& reply);

}  // namespace holdfast::resp
