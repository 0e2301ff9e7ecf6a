#include "sync/operation/command_template.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>

namespace holdfast::sync {

namespace {

using Digits = std::array<char, 20>;

std::string_view text_of(std::uint64_t number, Digits& digits) {
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return {digits.data(), static_cast<std::size_t>(written.ptr - digits.data())};
}

// owner_field() as an argument of a command.
void append_owner(std::string& out, const std::string& client_id, OwnerNumber owner) {
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

// The same; a thread mostly needs it for one owner of one client.
std::string_view owner_argument(const std::string& client_id, OwnerNumber owner) {
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
    append_owner(known.argument, client_id, owner);
  }
  return known.argument;
}

}  // namespace

std::optional<CommandTemplate> CommandTemplate::of(std::string_view command,
                                                   resp::ReplyKinds replies,
                                                   const std::string& client_id,
                                                   OwnerNumber owner) {
  const std::string_view argument = owner_argument(client_id, owner);
  const std::size_t at = command.find(argument);
  if (at == std::string_view::npos || command.rfind(argument) != at) return std::nullopt;
  CommandTemplate made;
  made.head_ = command.substr(0, at);
  made.tail_ = command.substr(at + argument.size());
  made.replies_ = replies;
  return made;
}

resp::ReplyKinds CommandTemplate::append(std::string& out, const std::string& client_id,
                                         OwnerNumber owner) const {
  out += head_;
  out += owner_argument(client_id, owner);
  out += tail_;
  return replies_;
}

}  // namespace holdfast::sync
