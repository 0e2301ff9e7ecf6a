#pragma once

#include <string_view>

#include "resp/reply_kinds.h"

namespace holdfast::script {

// A Lua script: one atomic step on the server. The build embeds them from lua/ (lua_scripts.h).
struct Script {
  std::string_view name;  // "lock/acquire"
  std::string_view sha1;
  std::string_view text;
  resp::ReplyKinds replies = resp::ReplyKinds::any();  // as its header names them
};

}  // namespace holdfast::script
