#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

}  // namespace holdfast
