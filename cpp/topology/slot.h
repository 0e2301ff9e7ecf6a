#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace holdfast::topology {

// One of the parts into which a cluster divides all keys; each belongs to one primary.
using Slot = std::uint16_t;
constexpr std::size_t kSlots = 16384;

// The hash tag, which determines the slot: the text between the first '{' and the next '}', if not
// empty, else the whole key. A part of `key`.
std::string_view hash_tag(std::string_view key);

// CRC16 (XMODEM) of the key's hash tag, modulo 16384.
Slot slot_of(std::string_view key);

}  // namespace holdfast::topology
