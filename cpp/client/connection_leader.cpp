// Who reads a connection: one of the threads that wait for it, or the loop.

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "base/sync_points.h"
#include "base/wake_batch.h"
#include "client/connection.h"
#include "client/poll_for.h"

namespace holdfast::client {

void Connection::serve(Parker& parker, const ServeControl& control, TimePoint slice) {
  ReaderElection::Place self{&parker, &control};
  MutexLock lock(mutex_);
  for (TimePoint now = clock_.now(); control.serves(now) && now < slice; now = clock_.now()) {
    const bool something = setup_.driver == Driver::kCallers && !line_.empty();
    if (election_.enter(self, something).reads) {
      if (line_.has_unsent()) (void)flush();
      lock.unlock();
      lead(parker, control, slice);
      lock.lock();
      election_.leave();
    } else {
      lock.unlock();
      parker.park(clock_, std::min(control.end(), slice));
      if (!self.linked.load(std::memory_order_acquire)) return;
      lock.lock();
      election_.awake(self);
    }
  }
  const WakeBatch wakes;
  find_leader(nullptr);
  lock.unlock();
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

void Connection::wake_leader() { perform(election_.interrupt()); }

void Connection::perform(const ReaderElection::Action& action) {
  if (action.wake != nullptr) WakeBatch::notify(*action.wake);
  if (action.drive) loop_.drive(shared_from_this());
  if (action.drive_at != kNever) loop_.drive_at(shared_from_this(), action.drive_at);
}

void Connection::find_leader(Parker* preferred) {
  if (move_) loop_.drive(shared_from_this());
  if (line_.empty()) return;
  if (setup_.driver == Driver::kLoop) {
    if (!election_.driven()) loop_.drive(shared_from_this());  // throws if it cannot start a thread
    election_.set_driven();
    return;
  }
  if (!election_.vacant()) return;
  perform(may_lie() ? election_.leave_unread(clock_.now()) : election_.submit(preferred));
}

bool Connection::may_lie() const {
  return send_.at_rest() && !line_.has_unsent() && !line_.has_awaited();
}

// What came later than the replies for which the loop was to look may lie for as long.
TimePoint Connection::unread_end(TimePoint now) const {
  if (line_.empty() || !may_lie()) return kNever;
  const TimePoint end = after(line_.first_sent(), ReaderElection::kUnread);
  return now < end ? end : kNever;
}

}  // namespace holdfast::client
