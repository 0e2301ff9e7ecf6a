#include "locks/sync/operation/timers.h"

#include <utility>

namespace holdfast::sync {

Timers::Timers(const Clock& clock, net::Loop& loop) : loop_(loop), wheel_(clock.now()) {}

void Timers::arm(const std::shared_ptr<Timed>& timed, TimePoint at) {
  if (at == kNever) return disarm(*timed);
  const MutexLock lock(mutex_);
  timed->timer_.keeps = timed;
  wheel_.arm(timed->timer_, at);
  if (at < armed_) {
    armed_ = at;
    loop_.drive_at(shared_from_this(), at);
  }
}

void Timers::call(std::shared_ptr<Timed> timed) {
  const MutexLock lock(mutex_);
  calls_.push_back(std::move(timed));
  if (calls_.size() == 1) loop_.drive(shared_from_this());
}

void Timers::close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  loop_.drive(shared_from_this());
}

void Timers::disarm(Timed& timed) {
  std::shared_ptr<Timed> last;  // this may be: it is destroyed after the lock is released
  const MutexLock lock(mutex_);
  timed.timer_.disarm();
  if (closed_ && armed_ != kNever && wheel_.next() == kNever) loop_.drive(shared_from_this());
  last = std::exchange(timed.timer_.keeps, nullptr);
}

net::Interest Timers::step(TimePoint now) {
  std::vector<std::shared_ptr<Timed>> due;
  net::Interest next;
  {
    const MutexLock lock(mutex_);
    due.swap(calls_);
    while (Timer* timer = wheel_.pop_due(now)) {
      due.push_back(std::exchange(static_cast<Timed::DueTimer*>(timer)->keeps, nullptr));
    }
    next.until = armed_ = wheel_.next();
    next.done = armed_ == kNever;
  }
  for (const std::shared_ptr<Timed>& timed : due) timed->on_time();
  return next;
}

}  // namespace holdfast::sync
