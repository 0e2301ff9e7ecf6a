#include "topology/topology_refresh.h"

#include <algorithm>

namespace holdfast::topology {

namespace {

constexpr Millis kSilence{200};  // after which another server is queried
constexpr Millis kShortestBackoff{20};
constexpr Millis kLongestBackoff{500};

}  // namespace

void TopologyRefresh::begin(std::size_t candidates) {
  querying_ = true;
  wanted_ = false;
  candidates_ = candidates;
  queried_ = failures_ = 0;
  next_at_ = TimePoint{};
}

std::optional<std::size_t> TopologyRefresh::next(TimePoint now) {
  if (!querying_ || queried_ == candidates_) return std::nullopt;
  if (queried_ > failures_ && now < next_at_) return std::nullopt;
  next_at_ = after(now, kSilence);
  return queried_++;
}

void TopologyRefresh::failed(TimePoint now) {
  if (!querying_ || ++failures_ < candidates_) return;
  querying_ = false;
  wanted_ = true;
  ++failed_rounds_;
  back_off(true, now);
}

void TopologyRefresh::answered(bool changed, TimePoint now) {
  querying_ = false;
  failed_rounds_ = 0;
  back_off(!changed, now);
}

void TopologyRefresh::back_off(bool longer, TimePoint now) {
  backoff_ = longer ? std::clamp<Duration>(backoff_ * 2, kShortestBackoff, kLongestBackoff)
                    : kShortestBackoff;
  back_off_until_ = after(now, backoff_);
}

TimePoint TopologyRefresh::until() const {
  if (querying_) return queried_ == candidates_ ? kNever : next_at_;
  return wanted_ ? back_off_until_ : kNever;
}

}  // namespace holdfast::topology
