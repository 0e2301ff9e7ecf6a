#include "topology/topology_refresh.h"

#include <algorithm>

namespace holdfast::topology {

namespace {

constexpr Millis kSilence{200};  // after which another server is queried
constexpr Millis kShortestRest{20};
constexpr Millis kLongestRest{500};

}  // namespace

void TopologyRefresh::begin(std::size_t candidates) {
  asking_ = true;
  wanted_ = false;
  candidates_ = candidates;
  asked_ = failures_ = 0;
  next_at_ = TimePoint{};
}

std::optional<std::size_t> TopologyRefresh::next(TimePoint now) {
  if (!asking_ || asked_ == candidates_) return std::nullopt;
  if (asked_ > failures_ && now < next_at_) return std::nullopt;
  next_at_ = after(now, kSilence);
  return asked_++;
}

void TopologyRefresh::failed(TimePoint now) {
  if (!asking_ || ++failures_ < candidates_) return;
  asking_ = false;
  wanted_ = true;
  ++failed_rounds_;
  rest(true, now);
}

void TopologyRefresh::answered(bool news, TimePoint now) {
  asking_ = false;
  failed_rounds_ = 0;
  rest(!news, now);
}

void TopologyRefresh::rest(bool longer, TimePoint now) {
  rest_ = longer ? std::clamp<Duration>(rest_ * 2, kShortestRest, kLongestRest) : kShortestRest;
  rest_until_ = after(now, rest_);
}

TimePoint TopologyRefresh::until() const {
  if (asking_) return asked_ == candidates_ ? kNever : next_at_;
  return wanted_ ? rest_until_ : kNever;
}

}  // namespace holdfast::topology
