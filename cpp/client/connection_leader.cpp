// Who reads a connection: one of the threads that wait for it, or the loop.

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "client/connection.h"

namespace holdfast::client {

namespace {

// Waits until `interest` comes true, or wake_fd is readable, or for so long.
void wait_for(const net::Interest& interest, int wake_fd, Duration longest) {
  std::array<pollfd, 2> fds{{{wake_fd, POLLIN, 0}, {interest.fd, 0, 0}}};
  if (interest.read) fds[1].events |= POLLIN;
  if (interest.write) fds[1].events |= POLLOUT;
  constexpr Duration kDay = std::chrono::hours(24);
  const Duration wait = std::clamp(longest, Duration::zero(), kDay);
  const timespec time{wait.count() / 1'000'000'000, wait.count() % 1'000'000'000};
  ::ppoll(fds.data(), interest.fd >= 0 ? 2 : 1, &time, nullptr);
}

}  // namespace

void Connection::serve(Parker& parker, const ServeControl& control, TimePoint slice) {
  Lock lock(mutex_);
  for (TimePoint now = clock_.now(); !control.over(now) && now < slice; now = clock_.now()) {
    if (leader_ == Leader::kNone && !line_.empty() && setup_.driver == Driver::kCallers) {
      leader_ = Leader::kCaller;
      leading_ = &parker;
      if (line_.has_unsent()) (void)flush(lock);
      lock.unlock();
      lead(parker, control, slice);
      lock.lock();
      leader_ = Leader::kNone;
      leading_ = nullptr;
    } else {
      const auto place = waiters_.insert(waiters_.end(), &parker);
      lock.unlock();
      parker.park(clock_, std::min(control.end(), slice));
      lock.lock();
      waiters_.erase(place);
      if (called_ == &parker) called_ = nullptr;
    }
  }
  find_leader(nullptr);
}

void Connection::lead(Parker& parker, const ServeControl& control, TimePoint slice) {
  // A caller leads right after it has sent: then there is nothing to do before something arrives.
  // That is a reply, and soon, so the read may wait for it; what is slow is waited for by a poll,
  // which notify() ends.
  bool soon = true;
  const bool sent = link_.state() == ReconnectingStream::State::kReady && !has_orders();
  net::Interest next = sent ? interest() : advance(clock_.now());
  for (;;) {
    const TimePoint now = clock_.now();
    if (next.done || control.over(now) || now >= slice) return;
    const Duration left = std::min({next.until, control.end(), slice}) - now;
    if (soon && may_await(next, left)) {
      next = advance(now, ReconnectingStream::Wait::kMoment);
      soon = clock_.now() - now < link_.moment();
    } else {
      if (parker.begin_poll()) {
        wait_for(next, parker.wake_fd(), left);
        parker.end_poll();
      }
      next = advance(clock_.now());
      soon = true;
    }
  }
}

// There is more to do than to read.
bool Connection::has_orders() const {
  const Lock lock(mutex_);
  return !writer_ || move_ || review_;
}

bool Connection::may_await(const net::Interest& next, Duration left) const {
  const Millis moment = link_.moment();
  return !next.write && moment > Millis(0) && left > moment;
}

void Connection::wake_leader() {
  if (leading_ != nullptr) leading_->notify();
  if (leader_ == Leader::kLoop) loop_.drive(shared_from_this());
}

void Connection::find_leader(Parker* preferred) {
  if (move_) loop_.drive(shared_from_this());
  if (line_.empty()) return;
  if (setup_.driver == Driver::kLoop) {
    if (!driven_) loop_.drive(shared_from_this());  // which may throw, for want of a thread
    driven_ = true;
    return;
  }
  if (leader_ != Leader::kNone || called_ != nullptr) return;
  if (preferred == nullptr && !waiters_.empty()) preferred = waiters_.front();
  if (preferred == nullptr) return loop_.drive(shared_from_this());
  call(*preferred);
}

// Parked in serve() it must be told; on its way there, perhaps by way of another connection, it
// sees for itself.
void Connection::call(Parker& next) {
  if (std::find(waiters_.begin(), waiters_.end(), &next) == waiters_.end()) return;
  called_ = &next;
  next.notify();
}

}  // namespace holdfast::client
