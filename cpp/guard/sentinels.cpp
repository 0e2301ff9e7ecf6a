#include "guard/sentinels.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "guard/server.h"
#include "resp/command.h"

namespace holdfast::guard {

namespace {

constexpr Millis kQueryTime{300};

template <typename Number>
Number number_in(std::string_view text) {
  Number value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// What one sentinel says; each failover has a greater epoch.
struct Named {
  std::uint64_t epoch;
  net::Address primary;
};

// The address in the first reply is the old one until a failover is over.
std::optional<Named> query(const Settings& sentinel) {
  const TimePoint deadline = after(SystemClock().now(), kQueryTime);
  auto server = Server::connect(sentinel, deadline);
  if (!server.ok()) return std::nullopt;
  std::string commands;
  for (const char* what : {"MASTER", "GET-MASTER-ADDR-BY-NAME"}) {
    commands += resp::Command({"SENTINEL", what, sentinel.service}).bytes();
  }
  const auto replies = server.value().request(commands, 2, deadline);
  if (!replies.ok()) return std::nullopt;
  const resp::Reply& address = replies.value()[1];
  if (!address.is_array() || address.size() != 2) return std::nullopt;
  const std::string_view epoch = replies.value()[0].field("config-epoch");
  return Named{number_in<std::uint64_t>(epoch),
               {std::string(address.text_at(0)), number_in<std::uint16_t>(address.text_at(1)), ""}};
}

}  // namespace

std::optional<net::Address> find_primary(const std::vector<Settings>& sentinels) {
  std::optional<Named> newest;
  for (const Settings& sentinel : sentinels) {
    const auto named = query(sentinel);
    if (named && (!newest || named->epoch > newest->epoch)) newest = named;
  }
  if (!newest) return std::nullopt;
  return newest->primary;
}

}  // namespace holdfast::guard
