#include "locks/sync/operation/ticket.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "locks/base/types.h"
#include "locks/sync/recipes/kinds.h"
#include "redis/base/digits.h"

namespace holdfast::sync {

namespace {

constexpr std::string_view kVersion = "holdfast-1";
constexpr std::size_t kUuid = 36;
constexpr std::string_view kUpperHex = "0123456789ABCDEF";
constexpr std::int64_t kLongestLease = std::int64_t{1} << 53;  // ms that a lease can have
constexpr std::int64_t kLargest = INT64_MAX;
// The numbers of ticket_number(): with another one the field is that of an owner, whose hold a
// ticket must not take.
constexpr auto kFirstNumber = static_cast<std::int64_t>(kOwnerNumbersEnd);
constexpr auto kLastNumber = static_cast<std::int64_t>(kTicketNumbersEnd) - 1;

bool is_ticket_kind(std::string_view word) {
  const auto has_it = [word](const LockKind& kind) { return kind.recipe().ticket_kind() == word; };
  return !word.empty() && std::any_of(kLockKinds.begin(), kLockKinds.end(), has_it);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool stands_for_itself(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (stands_for_itself(c)) {
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

bool is_field(std::string_view text) {
  if (text.size() <= kUuid + 1 || text[kUuid] != ':') return false;
  if (!is_uuid(text.substr(0, kUuid))) return false;
  return number(text.substr(kUuid + 1), kFirstNumber, kLastNumber).has_value();
}

// Cuts the text up to the next colon, and the colon; unset if there is none.
std::optional<std::string_view> take_part(std::string_view& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view part = text.substr(0, colon);
  text.remove_prefix(colon + 1);
  return part;
}

// A field has a colon inside.
std::optional<std::string_view> take_field(std::string_view& text) {
  const std::string_view whole = text;
  const auto uuid = take_part(text);
  const auto owner = uuid ? take_part(text) : std::nullopt;
  if (!owner) return std::nullopt;
  const std::string_view field = whole.substr(0, uuid->size() + 1 + owner->size());
  if (!is_field(field)) return std::nullopt;
  return field;
}

bool take_token(std::string_view& text, Ticket& ticket) {
  const auto part = take_part(text);
  if (!part) return false;
  if (part->empty()) return ticket.kind != "fenced_lock";
  ticket.token = number(*part, 1, kLargest);
  return ticket.token.has_value() && ticket.kind == "fenced_lock";
}

bool take_times(std::string_view& text, Ticket& ticket) {
  const auto lease_part = take_part(text);
  const auto minimum_part = lease_part ? take_part(text) : std::nullopt;
  if (!minimum_part) return false;
  const auto lease = number(*lease_part, 1, kLongestLease);
  const auto minimum = number(*minimum_part, 0, kLongestLease);
  if (!lease || !minimum) return false;
  ticket.lease = Millis(*lease);
  ticket.minimum = Millis(*minimum);
  return true;
}

std::optional<Ticket> parsed(std::string_view text) {
  if (take_part(text) != kVersion) return std::nullopt;
  Ticket ticket;
  const auto kind = take_part(text);
  if (!kind || !is_ticket_kind(*kind)) return std::nullopt;
  ticket.kind = *kind;
  const auto field = take_field(text);
  if (!field) return std::nullopt;
  ticket.field = *field;
  if (!take_token(text, ticket) || !take_times(text, ticket)) return std::nullopt;
  const auto name = percent_decoded(text);
  if (!name || name->empty()) return std::nullopt;
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
