#include "locks/base/types.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <new>
#include <random>

namespace holdfast {

namespace {

// Low enough for 2^51 numbers to follow.
std::uint64_t random_start() {
  std::random_device random;
  const std::uint64_t bits = static_cast<std::uint64_t>(random()) << 32U | random();
  return kFirstOwnerNumber + bits % (kOwnerNumbersEnd / 2 - kFirstOwnerNumber);
}

std::atomic<std::uint64_t>& next_number() {
  static std::atomic<std::uint64_t> next{random_start()};
  return next;
}

// A key of the server has at most 512 MB.
constexpr std::uint32_t kMostBytes = (std::uint32_t{1} << 31U) - 1;

}  // namespace

LockName::Text::Text(std::string_view bytes)
    : hash(std::hash<std::string_view>()(bytes)),
      size_(static_cast<std::uint32_t>(bytes.size()) & kMostBytes),
      brace_(bytes.find('{') == std::string_view::npos ? 0 : 1) {
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(this + 1));
}

Ref<LockName::Text> LockName::Text::of(std::string_view bytes) {
  return Ref<Text>(new (::operator new(sizeof(Text) + bytes.size())) Text(bytes));
}

void LockName::Text::destroy(Text& text) {
  text.~Text();
  ::operator delete(&text);
}

OwnerNumber next_owner_number() { return next_owner_numbers(1); }

OwnerNumber next_owner_numbers(std::int64_t count) {
  return OwnerNumber{next_number().fetch_add(static_cast<std::uint64_t>(count))};
}

std::string fresh_uuid() {
  std::random_device random;
  std::array<unsigned, 4> bits{random(), random(), random(), random()};
  std::array<char, 37> text;
  std::snprintf(text.data(), text.size(), "%08x-%04x-8%03x-%04x-%04x%08x", bits[0], bits[1] >> 16,
                bits[1] & 0xfffU, (bits[2] >> 16 & 0x3fffU) | 0x8000U, bits[2] & 0xffffU, bits[3]);
  return text.data();
}

}  // namespace holdfast
