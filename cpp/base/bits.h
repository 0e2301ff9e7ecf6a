#pragma once

#include <cstdint>

namespace holdfast {

// The places of the first and of the last bit that is set, counted from the lowest one, 0. Of a
// word that is not 0.
inline unsigned lowest_bit(std::uint64_t word) {
  return static_cast<unsigned>(__builtin_ctzll(word));
}
inline unsigned highest_bit(std::uint64_t word) {
  return 63U - static_cast<unsigned>(__builtin_clzll(word));
}

}  // namespace holdfast
