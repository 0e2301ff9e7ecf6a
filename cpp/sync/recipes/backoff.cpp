#include "sync/recipes/backoff.h"

#include <algorithm>

namespace holdfast::sync {

namespace {

constexpr Duration kLeast = std::chrono::microseconds(100);

double ticks(Duration duration) { return static_cast<double>(duration.count()); }

}  // namespace

BackoffSequence::BackoffSequence(const Backoff& backoff, std::uint64_t seed)
    : maximum_(ticks(backoff.maximum)),
      multiplier_(backoff.multiplier),
      bound_(ticks(backoff.initial)),
      state_(seed) {}

Duration BackoffSequence::next() {
  const double least = bound_ / multiplier_;
  const double time = least + (bound_ - least) * random();
  bound_ = std::min(bound_ * multiplier_, maximum_);
  return std::max(Duration(static_cast<Duration::rep>(time)), kLeast);
}

// Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
double BackoffSequence::random() {
  std::uint64_t bits = state_ += 0x9e3779b97f4a7c15U;
  bits = (bits ^ bits >> 30U) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ bits >> 27U) * 0x94d049bb133111ebU;
  return static_cast<double>((bits ^ bits >> 31U) >> 11U) * 0x1p-53;
}

}  // namespace holdfast::sync
