#include "redis/client/backoff.h"

#include <algorithm>
#include <random>

namespace holdfast::client {

namespace {
constexpr Millis kFirstRest{10};
constexpr Millis kLongestRest{1000};
constexpr int kDoublings = 7;
}  // namespace

Duration backoff_after(int failures, TimePoint now) {
  std::minstd_rand random(
      static_cast<std::minstd_rand::result_type>(now.time_since_epoch().count()));
  const int doublings = std::min(std::max(failures - 1, 0), kDoublings);
  const Duration longest = std::min<Duration>(kFirstRest * (1 << doublings), kLongestRest);
  return longest / 2 + longest / 2 * static_cast<long>(random() % 1000) / 1000;
}

}  // namespace holdfast::client
