#include "sync/recipes/owner_argument.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace holdfast::sync {

namespace {

using Digits = std::array<char, 20>;

std::string_view text_of(std::uint64_t number, Digits& digits) {
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return {digits.data(), static_cast<std::size_t>(written.ptr - digits.data())};
}

void encode_field(std::string& out, const std::string& client_id, OwnerNumber owner) {
  Digits room_for_owner;
  Digits room_for_size;
  const std::string_view number = text_of(static_cast<std::uint64_t>(owner), room_for_owner);
  out += '$';
  out += text_of(client_id.size() + 1 + number.size(), room_for_size);
  out += "\r\n";
  out += client_id;
  out += ':';
  out += number;
  out += "\r\n";
}

}  // namespace

// A thread mostly needs it for one owner of one client.
void append_field(std::string& out, const std::string& client_id, OwnerNumber owner) {
  struct Known {
    std::string client_id;
    OwnerNumber owner{};
    std::string argument;
  };
  thread_local Known known;
  if (known.owner != owner || known.client_id != client_id) {
    known.client_id = client_id;
    known.owner = owner;
    known.argument.clear();
    encode_field(known.argument, client_id, owner);
  }
  out += known.argument;
}

}  // namespace holdfast::sync
