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

// A key of the server has at most 512 MB.
constexpr std::uint32_t kMostBytes = (std::uint32_t{1} << 31U) - 1;

}  // namespace

LockName::Text::Text(std::string_view bytes)
    : hash(std::hash<std::string_view>()(bytes)),
      size(static_cast<std::uint32_t>(bytes.size()) & kMostBytes),
      brace(bytes.find('{') == std::string_view::npos ? 0 : 1) {
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(this + 1));
}

Ref<LockName::Text> LockName::Text::of(std::string_view bytes) {
  return Ref<Text>(new (::operator new(sizeof(Text) + bytes.size())) Text(bytes));
}

void LockName::Text::destroy(Text& text) {
  text.~Text();
  ::operator delete(&text);
}

OwnerNumber next_owner_number(std::int64_t count) {
  static std::atomic<std::uint64_t> next = [] {  // low enough for 2^51 numbers to follow
    std::random_device random;
    const std::uint64_t bits = static_cast<std::uint64_t>(random()) << 32U | random();
    return kFirstOwnerNumber + bits % (kOwnerNumbersEnd / 2 - kFirstOwnerNumber);
  }();
  return OwnerNumber{next.fetch_add(static_cast<std::uint64_t>(count))};
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
