#pragma once

#include <cstddef>
#include <string_view>

#include "resp/reply.h"

namespace holdfast::script {

// A Lua script: one atomic step on the server. The build embeds them from lua/ (lua_scripts.h).
struct Script {
  std::string_view name;  // "lock/acquire"
  std::string_view sha1;
  std::string_view text;
  resp::ReplyKinds replies = resp::ReplyKinds::any();  // as its header names them
  // The numbers of its keys and arguments, and its call by SHA1, in RESP, up to the first key;
  // empty for a script that takes any number of them.
  std::size_t keys = 0;
  std::size_t args = 0;
  std::string_view head{};
};

}  // namespace holdfast::script
