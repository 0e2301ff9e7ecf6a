#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace holdfast::sync {

// What a detached hold is attached by: all that another process needs to know of it. Times are
// milliseconds.
struct Ticket {
  std::string kind;                   // as Movable::ticket_kind()
  std::string field;                  // "<UUID>:<number>", which holds the lock meanwhile
  std::optional<std::int64_t> token;  // of a fenced lock's grant
  Millis lease{0};                    // from the moment of the detaching
  Millis minimum{0};                  // that the lock is to stay closed, from that moment; 0: none
  std::string name;                   // the key, any bytes but none at all
};

// Printable ASCII without blanks:
//     holdfast-1:<kind>:<field>:<token, or nothing>:<lease>:<minimum>:<name>
// where a byte of the name that is no letter, digit, '-', '.', '_' or '~' is '%' and two upper-case
// hexadecimal digits.
std::string to_text(const Ticket& ticket);

// The ticket; kInvalid for any text that to_text() would not have made. Pure: it takes any bytes.
Result<Ticket> parse_ticket(std::string_view text);

}  // namespace holdfast::sync
