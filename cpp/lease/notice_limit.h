#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_set>

#include "base/clock.h"

namespace holdfast::lease {

// Limits a notice to once a minute for each lock. It remembers the latest names only, so that with
// more than kMostNames in a minute a notice may be repeated sooner. Not thread-safe.
class NoticeLimit {
 public:
  // Whether the notice may be given about this lock now; if so, not again for a minute.
  bool admits(const std::string& name, TimePoint now);

  static constexpr std::size_t kMostNames = 1000;
  static constexpr Millis kPause{60'000};

 private:
  void forget_oldest();

  struct Notice {
    TimePoint at;
    std::string name;
  };
  std::deque<Notice> notices_;             // the oldest first
  std::unordered_set<std::string> names_;  // of these
};

}  // namespace holdfast::lease
