#include <algorithm>
#include <array>
#include <cstddef>

#include "redis/base/digits.h"
#include "redis/base/status.h"

namespace holdfast {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Control characters, separators of lines and paragraphs, interlinear annotations, and what Unicode
// lists as Default_Ignorable_Code_Point: no glyph shows it.
constexpr std::array kHidden{
    Range{0x0000, 0x001F},   Range{0x007F, 0x009F},   Range{0x00AD, 0x00AD},
    Range{0x034F, 0x034F},   Range{0x061C, 0x061C},   Range{0x115F, 0x1160},
    Range{0x17B4, 0x17B5},   Range{0x180B, 0x180F},   Range{0x200B, 0x200F},
    Range{0x2028, 0x202E},   Range{0x2060, 0x206F},   Range{0x3164, 0x3164},
    Range{0xFE00, 0xFE0F},   Range{0xFEFF, 0xFEFF},   Range{0xFFA0, 0xFFA0},
    Range{0xFFF0, 0xFFFB},   Range{0x1BCA0, 0x1BCA3}, Range{0x1D173, 0x1D17A},
    Range{0xE0000, 0xE0FFF},
};

struct Character {
  char32_t code;
  std::size_t size;
};

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

std::size_t size_by_lead(unsigned lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// The character at the begin; its size is 0 if there is none, but a byte that is not UTF-8.
Character first_of(std::string_view bytes) {
  constexpr std::array<unsigned, 5> kLeadBits{0, 0x7F, 0x1F, 0x0F, 0x07};
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  const std::size_t size = size_by_lead(byte_at(bytes, 0));
  if (size == 0 || size > bytes.size()) return {0, 0};
  char32_t code = byte_at(bytes, 0) & kLeadBits[size];
  for (std::size_t at = 1; at < size; ++at) {
    const unsigned next = byte_at(bytes, at);
    if ((next & 0xC0U) != 0x80U) return {0, 0};
    code = (code << 6U) | (next & 0x3FU);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kLeast[size] || code > 0x10FFFF || surrogate) return {0, 0};
  return {code, size};
}

}  // namespace

std::string shown(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character character = first_of(bytes);
    const std::string_view piece = bytes.substr(0, std::max<std::size_t>(character.size, 1));
    const auto has_it = [code = character.code](const Range& range) {
      return code >= range.first && code <= range.last;
    };
    const bool hidden = std::any_of(kHidden.begin(), kHidden.end(), has_it);
    const bool escaped = hidden || character.size == 0;
    if (!escaped) out += piece;
    for (std::size_t at = 0; escaped && at < piece.size(); ++at) {
      out += "\\x";
      out += kHexDigits[byte_at(piece, at) >> 4U];
      out += kHexDigits[byte_at(piece, at) & 0x0FU];
    }
    bytes.remove_prefix(piece.size());
  }
  return out;
}

std::string quoted(std::string_view bytes) { return "'" + shown(bytes) + "'"; }

}  // namespace holdfast
