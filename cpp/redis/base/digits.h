#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

inline constexpr std::size_t kMostDigits = 20;

// "00" to "99", one after the other.
inline constexpr auto kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < pairs.size() / 2; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

// Writes a number in decimal digits, and may write up to kMostDigits bytes; returns their end. It
// is faster than std::to_chars(), which counts the digits first.
inline char* write_digits(char* to, std::uint64_t number) {
  constexpr std::uint64_t kPair = 100;
  if (number < kPair / 10) {
    *to = static_cast<char>('0' + number);
    return to + 1;
  }
  if (number < kPair) {
    std::memcpy(to, &kDigitPairs[2 * number], 2);
    return to + 2;
  }
  std::array<char, 2 * kMostDigits> digits;  // the second half is slack for the copy
  char* const end = digits.data() + kMostDigits;
  char* begin = end;
  while (number >= kPair) {
    begin -= 2;
    std::memcpy(begin, &kDigitPairs[2 * (number % kPair)], 2);
    number /= kPair;
  }
  begin -= 2;
  std::memcpy(begin, &kDigitPairs[2 * number], 2);
  if (number < kPair / 10) ++begin;
  std::memcpy(to, begin, kMostDigits);
  return to + (end - begin);
}

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

// The value of a digit of either case; -1: it is none.
constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// A text with each %XX as the byte it stands for; nothing where a '%' is not followed by two
// digits.
inline std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high < 0 ? -1 : hex_digit(text[i + 2]);
    if (low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

// The places of the first and of the last bit that is set, counted from the lowest one, 0. Of a
// word that is not 0.
inline unsigned lowest_bit(std::uint64_t word) {
  return static_cast<unsigned>(__builtin_ctzll(word));
}
inline unsigned highest_bit(std::uint64_t word) {
  return 63U - static_cast<unsigned>(__builtin_clzll(word));
}

}  // namespace holdfast
