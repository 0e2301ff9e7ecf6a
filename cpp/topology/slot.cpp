#include "topology/slot.h"

#include <array>

namespace holdfast::topology {

namespace {

constexpr std::uint16_t kPolynomial = 0x1021;

constexpr std::array<std::uint16_t, 256> crc_table() {
  std::array<std::uint16_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte << 8U;
    for (int bit = 0; bit < 8; ++bit) crc = crc << 1U ^ ((crc & 0x8000U) != 0 ? kPolynomial : 0U);
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

std::uint16_t crc16(std::string_view bytes) {
  static constexpr std::array<std::uint16_t, 256> kTable = crc_table();
  std::uint32_t crc = 0;
  for (const char byte : bytes) {
    crc = (crc << 8U ^ kTable[(crc >> 8U ^ static_cast<unsigned char>(byte)) & 0xffU]) & 0xffffU;
  }
  return static_cast<std::uint16_t>(crc);
}

}  // namespace

std::string_view hash_tag(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

Slot slot_of(std::string_view key) { return crc16(hash_tag(key)) % kSlots; }

}  // namespace holdfast::topology
