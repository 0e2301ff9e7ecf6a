#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/base/status.h"
#include "redis/client.h"

namespace holdfast::guard {

// A guard's means to reach a client's servers as the client does; a record of its page.
struct Settings {
  // Without functions of Python: the newest credentials and addresses they have given instead. Of a
  // cluster the servers that the client is connected to come first, the newest first.
  net::Endpoint endpoint;
  std::string publish;  // the command by which scripts publish
  std::optional<net::Address>
      primary;  // for a service: the latest that the client was connected to
  // The client's connections for calls, as their servers know them (CLIENT INFO).
  std::vector<std::string> connections{};
};

std::string settings_text(const Settings& settings);

// kInvalid: it is no such text.
Result<Settings> read_settings(std::string_view text);

}  // namespace holdfast::guard
