#include "redis/client/tracking.h"

#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>

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

void Tracking::hello(const resp::Reply& reply) {
  resp3_ = !reply.is_error();
  const std::string_view version = reply.field("version");  // "7.2.4"
  int major = 0;
  int minor = 0;
  const char* const end = version.data() + version.size();
  const auto [dot, error] = std::from_chars(version.data(), end, major);
  if (error == std::errc() && dot != end) std::from_chars(dot + 1, end, minor);
  by_key_ = std::pair(major, minor) >= std::pair(7, 2);
}

Tracked Tracking::tracked() const {
  if (!granted_) return Tracked::kNothing;
  return by_key_ ? Tracked::kReadKeys : Tracked::kDeclaredKeys;
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
