#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::script {

// A Lua script: one atomic step on the server. The build embeds them from lua/ (lua_scripts.h).
struct Script {
  std::string_view name;  // "lock/acquire"
  std::string_view sha1;
  std::string_view text;
};

// Appends one call of a script, in RESP, to a buffer: `keys` and `args` parameters follow in that
// order. By its SHA1, or, for a server that does not know it yet (NOSCRIPT), with its whole text.
class Call {
 public:
  Call(std::string& out, const Script& script, bool by_text, int keys, int args);
  Call& operator<<(std::string_view parameter);
  Call& operator<<(std::int64_t parameter);

 private:
  std::string& out_;
};

}  // namespace holdfast::script
