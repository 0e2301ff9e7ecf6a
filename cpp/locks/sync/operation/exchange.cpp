#include "locks/sync/operation/exchange.h"

#include <algorithm>
#include <utility>

#include "redis/base/mutex.h"

namespace holdfast::sync {

std::optional<Outcome> Exchange::wait(Interrupt* interrupt) {
  Parker& here = Parker::of_this_thread();
  caller_.thread = &here;  // before any other thread knows of it
  const auto interrupted = [this](bool now) {
    const MutexLock lock(mutex_);
    caller_.interrupted = now;
  };
  try {
    start(&here);
    TimePoint look = kNever;  // when `interrupt` is to be asked
    while (!control_.done.load(std::memory_order_acquire)) {
      if (interrupt != nullptr) look = std::min(look, after(now(), kInterruptSlice));
      wait_in(here, look);
      if (control_.done.load(std::memory_order_acquire)) break;
      const TimePoint now = this->now();
      if (now >= control_.end()) time_is_up(now);
      if (interrupt == nullptr || now < look || control_.ready()) continue;
      look = kNever;
      interrupted(true);
      const bool stopped = stopped_by(*interrupt);
      interrupted(false);
      if (stopped) {
        give_up();
        return std::nullopt;
      }
    }
    return outcome_;  // written before `control_.done`, and not again
  } catch (...) {     // no memory, threads or descriptors
    give_up_quietly();
    throw;
  }
}

void Exchange::finish_to(std::shared_ptr<Completion> completion, std::uint64_t id, Parker* reader) {
  caller_ = {nullptr, reader, std::move(completion), id};
  try {
    start(nullptr);
  } catch (...) {
    give_up_quietly();
    throw;
  }
}

void Exchange::stop_serving(Parker& parker) {
  {
    const MutexLock lock(mutex_);
    caller_.reader = nullptr;
    if (finished()) return;
  }
  left(parker);
}

void Exchange::give_up() {
  cancel();
  {
    const MutexLock lock(mutex_);
    caller_.thread = nullptr;  // what still comes must not look for this thread
  }
  left(Parker::of_this_thread());
}

// An exchange must not go on for a caller that does not know of it.
void Exchange::give_up_quietly() noexcept {
  try {
    give_up();
  } catch (...) {
    return;
  }
}

void Exchange::wake_at(TimePoint at) {
  const bool was_timed = timed_;
  // To wake the thread only for it to sleep again, for a shorter time, would cost more.
  timed_ = !caller_.by_thread() || (!caller_.by_this_thread() && at < control_.end());
  if (timed_) return context_->timers->arm(timed(), at);
  if (was_timed) context_->timers->disarm(*this);
  control_.set_until(at);
}

void Exchange::finish(Outcome outcome) {
  if (timed_) context_->timers->disarm(*this);
  if (finished()) return;
  outcome_ = std::move(outcome);
  if (const auto completion = std::exchange(caller_.completion, nullptr)) {
    caller_.reader = nullptr;
    return completion->done(caller_.id, *outcome_);
  }
  if (!caller_.by_thread()) return;
  control_.done.store(true, std::memory_order_release);
  wake(caller_.thread);
}

// The waiting thread itself, busy with its own reply, sees for itself.
void Exchange::wake(Parker* parker) {
  if (parker != &Parker::of_this_thread()) WakeBatch::notify(*parker);
}

}  // namespace holdfast::sync
