#include "locks/sync/operation/ticket.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "locks/base/types.h"
#include "locks/sync/recipes/kinds.h"
#include "redis/base/digits.h"

namespace holdfast::sync {

namespace {

constexpr std::string_view kVersion = "holdfast-1";
constexpr std::string_view kUpperHex = "0123456789ABCDEF";
constexpr std::int64_t kLongestLease = std::int64_t{1} << 53;  // ms that a lease can have
constexpr std::int64_t kLargest = INT64_MAX;
// The numbers of ticket_number(): with another one the field is that of an owner, whose hold a
// ticket must not take.
constexpr auto kFirstNumber = static_cast<std::int64_t>(kOwnerNumbersEnd);
constexpr auto kLastNumber = static_cast<std::int64_t>(kTicketNumbersEnd) - 1;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += '%';
    text += kUpperHex[byte >> 4U];
    text += kUpperHex[byte & 0xfU];
  }
  return text;
}

std::optional<std::int64_t> number(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  if (value < least || value > most || std::to_string(value) != text) return std::nullopt;
  return value;
}

bool is_uuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::equal(text.begin(), text.end(), kForm.begin(), kForm.end(), [](char c, char form) {
    const bool hex = is_digit(c) || (c >= 'a' && c <= 'f');
    return form == 'x' ? hex : c == form;
  });
}

std::optional<Ticket> parsed(std::string_view text) {
  std::array<std::string_view, 7> parts;  // the field is two of them; the name follows
  for (std::string_view& part : parts) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    part = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  const auto& [version, kind, uuid, owner, token, lease, minimum] = parts;
  const auto has_it = [word = kind](const LockKind& each) {
    return each.recipe().traits.ticket == word;
  };
  if (version != kVersion || kind.empty()) return std::nullopt;
  if (std::none_of(kLockKinds.begin(), kLockKinds.end(), has_it)) return std::nullopt;
  if (!is_uuid(uuid) || !number(owner, kFirstNumber, kLastNumber)) return std::nullopt;
  const auto lease_ms = number(lease, 1, kLongestLease);
  const auto minimum_ms = number(minimum, 0, kLongestLease);
  const auto name = percent_decoded(text);
  if (!lease_ms || !minimum_ms || !name || name->empty()) return std::nullopt;
  Ticket ticket;
  ticket.kind = kind;
  ticket.field.append(uuid).append(":").append(owner);
  ticket.token = number(token, 1, kLargest);
  if (ticket.token.has_value() != (kind == "fenced_lock")) return std::nullopt;
  if (!ticket.token && !token.empty()) return std::nullopt;
  ticket.lease = Millis(*lease_ms);
  ticket.minimum = Millis(*minimum_ms);
  ticket.name = *name;
  return ticket;
}

}  // namespace

std::string to_text(const Ticket& ticket) {
  std::string text(kVersion);
  const std::string token = ticket.token ? std::to_string(*ticket.token) : std::string();
  for (const std::string& part :
       {ticket.kind, ticket.field, token, std::to_string(ticket.lease.count()),
        std::to_string(ticket.minimum.count()), escaped(ticket.name)}) {
    text += ':';
    text += part;
  }
  return text;
}

Result<Ticket> parse_ticket(std::string_view text) {
  std::optional<Ticket> ticket = parsed(text);
  // Each ticket has one spelling: no leading zeros, no unnecessary escapes.
  if (!ticket || to_text(*ticket) != text) {
    return Status::invalid("not a ticket of Hold.detach(), or one that was cut or changed");
  }
  return std::move(*ticket);
}

}  // namespace holdfast::sync
