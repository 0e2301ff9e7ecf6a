#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "redis/base/clock.h"
#include "redis/base/status.h"

namespace holdfast::sync {

// A ticket: the data by which another process attaches a detached hold. Times are milliseconds.
struct Ticket {
  std::string kind;   // as Traits::ticket
  std::string field;  // "<UUID>:<ticket_number()>", which holds the lock until it is attached
  std::optional<std::int64_t> token;  // a fenced lock's
  Millis lease{0};                    // from the moment of the detaching
  Millis minimum{0};  // what remains of the minimum hold time at that moment; 0: none
  std::string name;   // the key, any bytes, not empty
};

// Printable ASCII without blanks:
//     holdfast-1:<kind>:<field>:<token, or nothing>:<lease>:<minimum>:<name>
// where a byte of the name that is no letter, digit, '-', '.', '_' or '~' is '%' and two upper-case
// hexadecimal digits.
std::string to_text(const Ticket& ticket);

// The ticket; kInvalid for any text that to_text() does not make, and for a field that a thread,
// task or hold may have. Accepts any bytes.
Result<Ticket> parse_ticket(std::string_view text);

}  // namespace holdfast::sync
