// Tickets: what is accepted is exactly what to_text() makes.

#include <cstdint>
#include <cstdlib>

#include "locks/sync/operation/ticket.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ticket = holdfast::sync::parse_ticket(text);
  if (ticket.ok() && holdfast::sync::to_text(ticket.value()) != text) std::abort();
  return 0;
}
