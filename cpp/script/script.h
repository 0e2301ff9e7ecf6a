#pragma once

#include <string_view>

namespace holdfast::script {

// A Lua script: one atomic step on the server. The build embeds them from lua/ (lua_scripts.h).
struct Script {
  std::string_view name;  // "lock/acquire"
  std::string_view sha1;
  std::string_view text;
};

}  // namespace holdfast::script
