#include "base/parker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/process.h"

namespace holdfast {

namespace {
// Far enough for any wait, near enough for the arithmetic of condition variables.
constexpr Duration kLongest = std::chrono::hours(24);
}  // namespace

Parker::~Parker() {
  if (fd_ >= 0) ::close(fd_);
}

Parker& Parker::of_this_thread() {
  thread_local Parker parker;
  return parker;
}

void Parker::notify() {
  const std::lock_guard<std::mutex> lock(mutex_);
  notified_ = true;
  if (polling_) {
    eventfd_write(fd_, 1);
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

bool Parker::begin_poll() {
  if (const std::uint64_t epoch = fork_epoch(); epoch_ != epoch) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoch_ = epoch;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (notified_) {
    notified_ = false;
    return false;
  }
  polling_ = true;
  return true;
}

void Parker::end_poll() {
  const std::lock_guard<std::mutex> lock(mutex_);
  polling_ = false;
  if (!notified_) return;
  notified_ = false;
  eventfd_t ignored = 0;
  eventfd_read(fd_, &ignored);
}

}  // namespace holdfast
