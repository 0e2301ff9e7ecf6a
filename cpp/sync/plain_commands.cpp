#include "sync/plain_commands.h"

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

}  // namespace

std::unique_ptr<const PlainCommands> PlainCommands::encode(const Context& with,
                                                           const LockRecipe& recipe,
                                                           const LockName& name, Millis lease) {
  constexpr OwnerNumber kAny{kFirstOwnerNumber};
  std::string bulk;
  append_owner(bulk, with.client_id, kAny);
  const std::string field = owner_field(with.client_id, kAny);
  std::string command;
  script::Writer writer = with.writer(command);
  std::unique_ptr<PlainCommands> made(new PlainCommands(lease, writer.publish()));
  recipe.acquire(writer, {name, field, 1, lease});
  if (!cut(command, bulk, made->acquire_)) return nullptr;
  made->acquire_.replies = writer.replies();
  command.clear();
  recipe.release(writer, {name, field});
  if (!cut(command, bulk, made->release_)) return nullptr;
  made->release_.replies = writer.replies();
  return made;
}

bool PlainCommands::cut(const std::string& command, std::string_view bulk, Halves& into) {
  const std::size_t at = command.find(bulk);
  if (at == std::string::npos || command.rfind(bulk) != at) return false;
  into.head = command.substr(0, at);
  into.tail = command.substr(at + bulk.size());
  return true;
}

resp::ReplyKinds PlainCommands::append(std::string& out, const Halves& halves, const Context& with,
                                       OwnerNumber owner) {
  out += halves.head;
  append_owner(out, with.client_id, owner);
  out += halves.tail;
  return halves.replies;
}

}  // namespace holdfast::sync
