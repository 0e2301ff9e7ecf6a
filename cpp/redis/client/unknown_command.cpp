#include "redis/client/unknown_command.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "redis/resp/reply.h"

namespace holdfast::client {

namespace {

// The script of a command that carries its text, and what follows it.
std::pair<std::string_view, std::string_view> script_of(std::string_view command) {
  constexpr std::string_view kBegin = "\r\nEVAL\r\n$";
  const std::size_t begin = command.find(kBegin);
  if (begin == std::string_view::npos) return {};
  std::string_view rest = command.substr(begin + kBegin.size());
  const std::size_t digits = rest.find('\r');
  const std::size_t size = std::stoul(std::string(rest.substr(0, digits)));
  rest = rest.substr(digits + 2);
  return {rest.substr(0, size), rest.substr(size)};
}

std::string_view line_of(std::string_view text, std::size_t number) {
  for (; number > 1 && !text.empty(); --number) {
    text = text.substr(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return text.substr(0, text.find('\n'));
}

// The commands that a line of Lua calls, in capital letters: "DEL", "GET or TTL"; empty: none by
// its name.
std::string called_in(std::string_view line) {
  constexpr std::string_view kCall = "call('";
  std::string names;
  for (std::size_t at = line.find(kCall); at != std::string_view::npos; at = line.find(kCall)) {
    line = line.substr(at + kCall.size());
    if (!names.empty()) names += " or ";
    for (const char letter : line.substr(0, line.find('\''))) {
      names += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    }
  }
  return names;
}

}  // namespace

std::optional<resp::Reply> named_unknown_command(const Request& request, const resp::Reply& error) {
  const std::optional<std::size_t> line = resp::line_of_unknown_command(error.text());
  if (!line) return std::nullopt;
  std::string command;
  (void)request.encode(command, true);
  const auto [script, arguments] = script_of(command);
  if (script.empty()) return std::nullopt;
  std::string name = called_in(line_of(script, *line));
  if (name.empty()) {  // by an argument, only that which publishes
    const bool sharded = arguments.find("\r\nspublish\r\n") != std::string_view::npos;
    name = sharded ? "SPUBLISH" : "PUBLISH";
  }
  const std::string text =
      "-ERR Unknown command " + name +
      " called from script; was it renamed (rename-command)? `holdfast doctor` "
      "lists what locks need\r\n";
  resp::Reader reader;
  reader.feed(text.data(), text.size());
  return std::move(reader.next().value());
}

}  // namespace holdfast::client
