// Who reads a connection: one of the threads that wait for it, or the loop.

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "base/sync_points.h"
#include "base/wake_batch.h"
#include "client/connection.h"
#include "client/poll_for.h"

namespace holdfast::client {

namespace {

// How long replies that no caller awaits may lie unread.
constexpr Millis kUnread{5};

}  // namespace

void Connection::serve(Parker& parker, const ServeControl& control, TimePoint slice) {
  MutexLock lock(mutex_);
  for (TimePoint now = clock_.now(); control.serves(now) && now < slice; now = clock_.now()) {
    if (leader_ == Leader::kNone && !line_.empty() && setup_.driver == Driver::kCallers) {
      leader_ = Leader::kCaller;
      leading_ = &parker;
      if (line_.has_unsent()) (void)flush();
      lock.unlock();
      lead(parker, control, slice);
      lock.lock();
      leader_ = Leader::kNone;
      leading_ = nullptr;
    } else {
      Follower self{&parker, &control};
      followers_.push_back(&self);
      lock.unlock();
      parker.park(clock_, std::min(control.end(), slice));
      if (!self.linked.load(std::memory_order_acquire)) return;
      lock.lock();
      unlink(self);
    }
  }
  const WakeBatch wakes;
  find_leader(nullptr);
  lock.unlock();
}

void Connection::unlink(Follower& follower) {
  if (called_ == follower.parker) called_ = nullptr;
  if (follower.linked.load(std::memory_order_relaxed)) followers_.remove(&follower);
}

// Those whose operation is over need not come back for the lock.
void Connection::release_followers() {
  for (auto each = followers_.begin(); each != followers_.end();) {
    Follower& follower = **each++;
    if (!follower.control->done.load(std::memory_order_acquire)) continue;
    unlink(follower);
    follower.linked.store(false, std::memory_order_release);
  }
}

void Connection::lead(Parker& parker, const ServeControl& control, TimePoint slice) {
  // A caller leads right after it has sent: then there is nothing to do before something arrives.
  // That is a reply, and soon, so the read may wait for it; what is slow is waited for by a poll,
  // which notify() ends.
  bool soon = true;
  std::optional<net::Interest> known = without_orders();
  net::Interest next = known ? *known : advance(clock_.now());
  for (;;) {
    const TimePoint now = clock_.now();
    if (next.done || !control.serves(now) || now >= slice) return;
    const Duration left = std::min({next.until, control.end(), slice}) - now;
    if (soon && may_await(next, left)) {
      next = advance(now, ReconnectingStream::Wait::kMoment);
      soon = clock_.now() - now < link_.moment();
    } else {
      (void)poll_for(next, parker, left);
      next = advance(clock_.now());
      soon = true;
    }
  }
}

// What to wait for, where there is nothing to do but to read.
std::optional<net::Interest> Connection::without_orders() const {
  if (link_.state() != ReconnectingStream::State::kReady) return std::nullopt;
  const MutexLock lock(mutex_);
  if (!send_.stream() || move_ || review_) return std::nullopt;
  return interest();
}

bool Connection::may_await(const net::Interest& next, Duration left) const {
  const Millis moment = link_.moment();
  return !next.write && moment > Millis(0) && left > moment;
}

void Connection::wake_leader() {
  if (leading_ != nullptr) WakeBatch::notify(*leading_);
  const bool by_loop = leader_ == Leader::kLoop || leader_ == Leader::kForeign;
  if (by_loop) loop_.drive(shared_from_this());
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
  if (may_lie()) return leave_unread();
  call_or_drive(preferred);
}

void Connection::call_or_drive(Parker* preferred) {
  if (preferred == nullptr && !followers_.empty()) preferred = followers_.front()->parker;
  if (preferred == nullptr) return loop_.drive(shared_from_this());
  call(*preferred);
}

bool Connection::may_lie() const {
  return send_.at_rest() && !line_.has_unsent() && !line_.has_awaited();
}

// The next thread that comes reads them: to wake the loop for each would cost more than the reply
// is worth.
void Connection::leave_unread() {
  if (unread_until_ != kNever) return;
  unread_until_ = after(clock_.now(), kUnread);
  loop_.drive_at(shared_from_this(), unread_until_);
}

// What came later than the replies for which the loop was to look may lie for as long.
TimePoint Connection::unread_end(TimePoint now) const {
  if (line_.empty() || !may_lie()) return kNever;
  const TimePoint end = after(line_.first_sent(), kUnread);
  return now < end ? end : kNever;
}

// Parked in serve() it must be told; on its way there, perhaps by way of another connection, it
// sees for itself.
void Connection::call(Parker& next) {
  const auto is_it = [&next](const Follower* each) { return each->parker == &next; };
  if (std::none_of(followers_.begin(), followers_.end(), is_it)) return;
  called_ = &next;
  WakeBatch::notify(next);
}

}  // namespace holdfast::client
