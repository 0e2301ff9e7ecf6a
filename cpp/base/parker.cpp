#include "base/parker.h"

#include <sys/eventfd.h>

#include <algorithm>

namespace holdfast {

namespace {
// Far enough for any wait, near enough for the arithmetic of condition variables.
constexpr Duration kLongest = std::chrono::hours(24);
}  // namespace

void Parker::notify() {
  const std::lock_guard<std::mutex> lock(mutex_);
  notified_ = true;
  if (poll_fd_ >= 0) {
    eventfd_write(poll_fd_, 1);
  } else {
    wake_.notify_one();
  }
}

void Parker::park(const Clock& clock, TimePoint until) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!notified_) {
    const TimePoint now = clock.now();
    if (now >= until) return;
    wake_.wait_for(lock, std::min<Duration>(until - now, kLongest));
  }
  notified_ = false;
}

bool Parker::begin_poll(int poll_fd) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (notified_) {
    notified_ = false;
    return false;
  }
  poll_fd_ = poll_fd;
  return true;
}

void Parker::end_poll() {
  const std::lock_guard<std::mutex> lock(mutex_);
  poll_fd_ = -1;
  notified_ = false;
}

}  // namespace holdfast
