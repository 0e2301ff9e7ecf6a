#include "resp/plain_reply.h"

#include <charconv>
#include <string_view>

namespace holdfast::resp {

std::optional<PlainReply> plain_reply(const char* bytes, std::size_t size) {
  const std::string_view text(bytes, size);
  if (text == "$-1\r\n" || text == "_\r\n") return PlainReply{};
  constexpr std::size_t kShortest = 4;  // ":1\r\n"
  if (size < kShortest || bytes[0] != ':') return std::nullopt;
  const char* const end = bytes + size - 2;
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(bytes + 1, end, value);
  const bool whole = error == std::errc() && stop == end && text.substr(size - 2) == "\r\n";
  if (!whole) return std::nullopt;
  return PlainReply{value};
}

PlainBeginning plain_beginning(std::string_view bytes) {
  const std::size_t end = bytes.find("\r\n");
  if (end == std::string_view::npos) return {};
  const std::size_t size = end + 2;
  const std::optional<PlainReply> reply = plain_reply(bytes.data(), size);
  if (!reply) return {};
  return {*reply, size};
}

std::optional<PlainReply> plain_reply(const Reply& reply) {
  if (reply.is_nil()) return PlainReply{};
  if (reply.is_integer()) return PlainReply{reply.integer()};
  return std::nullopt;
}

}  // namespace holdfast::resp
