#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace holdfast::sync {

// The id of the permit that this client takes under `number`, unique among all clients and
// processes; and the number of an id that this client has made.
inline constexpr std::size_t kPermitIdSize = 16;
std::string permit_id(const std::string& client_id, OwnerNumber number);
std::optional<OwnerNumber> permit_number(const std::string& client_id, std::string_view permit);

// Writes the ids of an owner and of those whose numbers follow.
void write_permit_ids(char* to, const Owner& first, std::int64_t amount);

}  // namespace holdfast::sync
