#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/types.h"

namespace holdfast {

// An owner as commands name it, by its field: see owner_field(). Borrows the client's id.
struct Owner {
  Owner() = default;
  Owner(std::string_view client, OwnerNumber of) : client_id(client), number(of) {}
  // The owner of a field.
  template <typename Text,
            typename = std::enable_if_t<std::is_convertible_v<const Text&, std::string_view>>>
  Owner(const Text& text) {  // NOLINT(google-explicit-constructor): a field names one owner
    const std::string_view field = text;
    const std::size_t colon = field.rfind(':');
    std::uint64_t digits = 0;
    std::from_chars(field.data() + colon + 1, field.data() + field.size(), digits);
    client_id = field.substr(0, colon);
    number = OwnerNumber{digits};
  }

  std::string_view client_id{};
  OwnerNumber number{};
};

}  // namespace holdfast
