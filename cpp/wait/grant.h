#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/types.h"

namespace holdfast::wait {

// A lock that the release of another client has granted to a waiter of this one.
struct Grant {
  OwnerNumber owner{};
  std::int64_t place = 0;  // of its attempt, as the reply to that has it
  Millis lease{0};         // from the release on
  std::optional<std::int64_t> token{};
};

// The message of such a release, "owner place lease" or "owner place lease token". Nothing: it is
// another one.
std::optional<Grant> parse_grant(std::string_view message);

}  // namespace holdfast::wait
