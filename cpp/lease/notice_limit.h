#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_set>

#include "base/clock.h"

namespace holdfast::lease {

// Limits a notice to once in a time for each lock, usually a minute. It remembers the latest names
// only, so that with more than kMostNames in that time a notice may be repeated sooner. Not
// thread-safe.
class NoticeLimit {
 public:
  static constexpr std::size_t kMostNames = 1000;
  static constexpr Millis kPause{60'000};

  explicit NoticeLimit(Duration pause = kPause) : pause_(pause) {}

  // Whether the notice may be given about this lock now; if so, not again for that time.
  bool admits(const std::string& name, TimePoint now) {
    while (!notices_.empty() && now - notices_.front().at >= pause_) forget_oldest();
    if (!names_.insert(name).second) return false;
    notices_.push_back({now, name});
    if (notices_.size() > kMostNames) forget_oldest();
    return true;
  }

 private:
  void forget_oldest() {
    names_.erase(notices_.front().name);
    notices_.pop_front();
  }

  struct Notice {
    TimePoint at;
    std::string name;
  };
  const Duration pause_;
  std::deque<Notice> notices_;             // the oldest first
  std::unordered_set<std::string> names_;  // of these
};

}  // namespace holdfast::lease
