#include "client/tracking.h"

#include <cstddef>

namespace holdfast::client {

namespace {
constexpr Millis kTryAgain{60'000};
constexpr int kMostBroken = 2;
}  // namespace

void Tracking::begin(TimePoint now) {
  resp3_ = granted_ = false;
  changes_ = {};
  requested_ = mode_ == TrackingMode::kTried && now >= again_;
}

void Tracking::answered(const resp::Reply& reply, TimePoint now) {
  granted_ = resp3_ && !reply.is_error();
  if (!granted_) again_ = after(now, kTryAgain);
}

void Tracking::broken(TimePoint now) {
  if (!requested_ || ++broken_ < kMostBroken) return;
  broken_ = 0;
  again_ = after(now, kTryAgain);
}

void Tracking::note(const resp::Reply& push) {
  if (!granted_ || push.text_at(0) != "invalidate") return;
  const resp::Reply keys = push.at(1);
  if (!keys.is_array()) changes_.all = true;
  for (std::size_t i = 0; i < keys.size(); ++i) changes_.keys.emplace_back(keys.text_at(i));
}

}  // namespace holdfast::client
