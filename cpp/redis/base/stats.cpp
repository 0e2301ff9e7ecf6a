#include "redis/base/stats.h"

#include <algorithm>

namespace holdfast {

namespace {

constexpr std::int64_t kMicro = 1'000;
constexpr std::int64_t kMilli = 1'000 * kMicro;
constexpr std::int64_t kSecond = 1'000 * kMilli;

}  // namespace

const std::array<std::int64_t, Stats::kBounds> Stats::kUpTo{
    500 * kMicro, kMilli,       5 * kMilli / 2, 5 * kMilli,   10 * kMilli,   25 * kMilli,
    50 * kMilli,  100 * kMilli, 250 * kMilli,   500 * kMilli, kSecond,       5 * kSecond / 2,
    5 * kSecond,  10 * kSecond, 30 * kSecond,   60 * kSecond, 300 * kSecond, 1800 * kSecond};

void Stats::Shard::add(Timing timing, Duration time) {
  const std::int64_t nanos = time.count();
  std::size_t bucket = 0;  // most times are short
  while (bucket < kBounds && nanos > kUpTo[bucket]) ++bucket;
  Timed& timed = timings[index(timing)];
  timed.counts[bucket].fetch_add(1, std::memory_order_relaxed);
  timed.sum.fetch_add(nanos, std::memory_order_relaxed);
}

void Stats::add(Timing timing, Duration time) { mine().add(timing, time); }

void Stats::granted(bool contended, Duration took, std::int64_t amount) {
  Shard& shard = mine();
  shard.add(Counter::kAcquired, amount);
  if (contended) shard.add(Counter::kContended, amount);
  shard.add(Timing::kWait, took);
}

void Stats::held_for(Duration after) {
  Shard& shard = mine();
  shard.add(Counter::kHeld, -1);
  shard.add(Timing::kHeld, after);
}

std::int64_t Stats::total(Counter counter) const {
  std::int64_t sum = 0;
  for (const Shard& shard : shards_) {
    sum += shard.counters[index(counter)].load(std::memory_order_relaxed);
  }
  return sum;
}

std::int64_t Stats::held() const {
  return total(Counter::kHeld) + std::max<std::int64_t>(0, total(Counter::kTaken));
}

Stats::Histogram Stats::histogram(Timing timing) const {
  Histogram whole;
  for (const Shard& shard : shards_) {
    const Shard::Timed& timed = shard.timings[index(timing)];
    for (std::size_t i = 0; i < whole.counts.size(); ++i) {
      whole.counts[i] += timed.counts[i].load(std::memory_order_relaxed);
    }
    whole.sum += Duration(timed.sum.load(std::memory_order_relaxed));
  }
  return whole;
}

}  // namespace holdfast
