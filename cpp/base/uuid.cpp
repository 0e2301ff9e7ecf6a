#include "base/uuid.h"

#include <array>
#include <cstdio>
#include <random>

namespace holdfast {

std::string fresh_uuid() {
  std::random_device random;
  std::array<unsigned, 4> bits{random(), random(), random(), random()};
  std::array<char, 37> text;
  std::snprintf(text.data(), text.size(), "%08x-%04x-8%03x-%04x-%04x%08x", bits[0], bits[1] >> 16,
                bits[1] & 0xfffU, (bits[2] >> 16 & 0x3fffU) | 0x8000U, bits[2] & 0xffffU, bits[3]);
  return text.data();
}

}  // namespace holdfast
