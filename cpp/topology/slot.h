#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace holdfast::topology {

// One of the parts into which a cluster divides all keys; each is one primary's.
using Slot = std::uint16_t;
constexpr std::size_t kSlots = 16384;

// CRC16 (XMODEM) of the key's hash tag, modulo 16384: of what stands between the first '{' and the
// next '}', where there is something, else of the whole key.
Slot slot_of(std::string_view key);

}  // namespace holdfast::topology
