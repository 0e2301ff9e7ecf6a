#include "resp/plain_reply.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace holdfast::resp {

namespace {

constexpr std::string_view kEnd = "\r\n";

// The number at the beginning of a line, and the size of that line with its end; 0: there is none.
struct Line {
  std::int64_t number = 0;
  std::size_t size = 0;
};
Line numbered_line(std::string_view bytes) {
  Line line;
  const char* const end = bytes.data() + bytes.size();
  const auto [stop, error] = std::from_chars(bytes.data() + 1, end, line.number);
  const bool ends = end - stop >= 2 && stop[0] == '\r' && stop[1] == '\n';
  if (error == std::errc() && ends) line.size = static_cast<std::size_t>(stop - bytes.data()) + 2;
  return line;
}

PlainReply plain_text(std::string_view text) {
  PlainReply reply{};
  reply.text_size = static_cast<std::uint8_t>(text.size());
  std::copy(text.begin(), text.end(), reply.text_bytes.begin());
  return reply;
}

PlainBeginning text_beginning(std::string_view bytes) {
  constexpr auto kLongest = static_cast<std::int64_t>(PlainReply::kLongestText);
  const Line line = numbered_line(bytes);
  if (line.size == 0 || line.number < 0 || line.number > kLongest) return {};
  const auto size = static_cast<std::size_t>(line.number);
  if (bytes.size() < line.size + size + 2) return {};
  if (bytes.substr(line.size + size, 2) != kEnd) return {};
  return {plain_text(bytes.substr(line.size, size)), line.size + size + 2};
}

// Of an array of two integers.
PlainBeginning pair_beginning(std::string_view bytes) {
  constexpr std::string_view kTwo = "*2\r\n";
  if (bytes.substr(0, kTwo.size()) != kTwo) return {};
  PlainBeginning pair{{}, kTwo.size()};
  for (std::optional<std::int64_t>* integer : {&pair.reply.integer, &pair.reply.second}) {
    const std::string_view rest = bytes.substr(pair.size);
    if (rest.empty() || rest[0] != ':') return {};
    const Line line = numbered_line(rest);
    if (line.size == 0) return {};
    *integer = line.number;
    pair.size += line.size;
  }
  return pair;
}

}  // namespace

PlainBeginning plain_beginning(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (bytes[0] == ':') {
    const Line line = numbered_line(bytes);
    return line.size > 0 ? PlainBeginning{{line.number}, line.size} : PlainBeginning{};
  }
  for (const std::string_view nil : {"$-1\r\n", "_\r\n"}) {
    if (bytes.substr(0, nil.size()) == nil) return {{}, nil.size()};
  }
  return bytes[0] == '$' ? text_beginning(bytes) : pair_beginning(bytes);
}

std::optional<PlainReply> plain_reply(const Reply& reply) {
  switch (reply.kind()) {
    case ReplyKind::kNil:
      return PlainReply{};
    case ReplyKind::kInteger:
      return PlainReply{reply.integer()};
    case ReplyKind::kText:
      if (reply.text().size() <= PlainReply::kLongestText) return plain_text(reply.text());
      break;
    default:
      break;
  }
  return std::nullopt;
}

}  // namespace holdfast::resp
