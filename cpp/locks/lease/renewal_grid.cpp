#include "locks/lease/renewal_grid.h"

#include <algorithm>
#include <functional>

#include "redis/base/digits.h"

namespace holdfast::lease {

namespace {

constexpr std::size_t kHoldsOfAMoment = 50;
constexpr unsigned kMostBits = 16;
constexpr unsigned kFirstBits = 4;
constexpr Duration kClosest = Millis(1);  // the watchdog's timers know no shorter times

// The binary logarithm of the number of moments. By a power of two most stay where they are when
// the number changes, and a renewal costs one division.
unsigned bits_for(std::size_t holds, Duration third) {
  const std::uint64_t wanted = holds / kHoldsOfAMoment;
  const auto possible = static_cast<std::uint64_t>(third / kClosest);
  const std::uint64_t moments = std::max<std::uint64_t>(std::min(wanted, possible), 1);
  return std::min(kMostBits, highest_bit(moments));
}

// A part of a time that is divided into 2^bits.
Duration part(Duration whole, unsigned bits) { return Duration(whole.count() >> bits); }

}  // namespace

RenewalGrid::RenewalGrid(std::string_view client_id)
    : seed_(static_cast<std::uint32_t>(std::hash<std::string_view>()(client_id))) {}

TimePoint RenewalGrid::first(TimePoint sent, Millis lease, std::size_t holds) const {
  const Duration third = Duration(lease) / 3;
  const unsigned bits = std::max(bits_for(holds, third), kFirstBits);
  return last_before(sent + third, part(third, bits), Duration(0), third);
}

TimePoint RenewalGrid::next(TimePoint sent, Millis lease, std::uint32_t group,
                            std::size_t holds) const {
  const Duration third = Duration(lease) / 3;
  const unsigned bits = bits_for(holds, third);
  // Groups with numbers that follow each other are spread evenly (Knuth's multiplicative hashing).
  constexpr std::uint32_t kGolden = 0x9e3779b9;
  const std::uint64_t moment = (std::uint64_t{group * kGolden} << bits) >> 32U;
  const Duration offset = part(third, bits) * static_cast<long>(moment);
  return last_before(sent + third, third, offset, third);
}

TimePoint RenewalGrid::last_before(TimePoint at, Duration period, Duration offset,
                                   Duration third) const {
  const Duration begin = offset + third / 1024 * static_cast<long>(seed_ % 1024);
  return TimePoint((at.time_since_epoch() - begin) / period * period + begin);
}

}  // namespace holdfast::lease
