#include "lease/notice_limit.h"

namespace holdfast::lease {

bool NoticeLimit::admits(const std::string& name, TimePoint now) {
  while (!notices_.empty() && now - notices_.front().at >= pause_) forget_oldest();
  if (!names_.insert(name).second) return false;
  notices_.push_back({now, name});
  if (notices_.size() > kMostNames) forget_oldest();
  return true;
}

void NoticeLimit::forget_oldest() {
  names_.erase(notices_.front().name);
  notices_.pop_front();
}

}  // namespace holdfast::lease
