#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "guard/settings.h"
#include "net/endpoint.h"

namespace holdfast::guard {

// The primary of a service, as the sentinel with the newest configuration names it; nullopt: none
// of them has answered. Each is queried for a short time only. Blocks.
std::optional<net::Address> find_primary(const std::vector<Settings>& sentinels);

}  // namespace holdfast::guard
