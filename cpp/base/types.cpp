#include "base/types.h"

#include <atomic>
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

}  // namespace

OwnerNumber next_owner_number() { return next_owner_numbers(1); }

OwnerNumber next_owner_numbers(std::int64_t count) {
  return OwnerNumber{next_number().fetch_add(static_cast<std::uint64_t>(count))};
}

void restart_owner_numbers(std::uint64_t first) { next_number().store(first); }

}  // namespace holdfast
