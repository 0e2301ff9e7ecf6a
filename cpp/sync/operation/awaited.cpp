#include "sync/operation/awaited.h"

#include <algorithm>
#include <utility>

#include "base/parker.h"

namespace holdfast::sync {

std::optional<Outcome> Awaited::wait(Interrupt* interrupt) {
  Parker& here = Parker::of_this_thread();
  wait_by(here);
  try {
    start(&here);
    TimePoint look = kNever;  // when `interrupt` is to be asked
    while (!control_.done.load(std::memory_order_acquire)) {
      if (interrupt != nullptr) look = std::min(look, after(now(), kInterruptSlice));
      wait_in(here, look);
      if (control_.done.load(std::memory_order_acquire)) break;
      const TimePoint now = this->now();
      if (now >= control_.end()) time_is_up(now);
      if (interrupt == nullptr || now < look || control_.done.load()) continue;
      look = kNever;
      if (stopped_by(*interrupt)) {
        give_up();
        return std::nullopt;
      }
    }
    return final_outcome();
  } catch (...) {  // no memory, threads or descriptors
    give_up_quietly();
    throw;
  }
}

void Awaited::finish_to(std::shared_ptr<Completion> completion, std::uint64_t id, Parker* reader) {
  report_to(std::move(completion), id, reader);
  try {
    start(nullptr);
  } catch (...) {
    give_up_quietly();
    throw;
  }
}

void Awaited::stop_serving(Parker& parker) {
  {
    const MutexLock lock(mutex_);
    reader_ = nullptr;
    if (finished()) return;
  }
  left(parker);
}

void Awaited::report_to(std::shared_ptr<Completion> completion, std::uint64_t id, Parker* reader) {
  completion_ = std::move(completion);
  id_ = id;
  reader_ = reader;
}

void Awaited::give_up() {
  cancel();
  {
    const MutexLock lock(mutex_);
    parker_ = nullptr;  // what still comes must not look for this thread
  }
  left(Parker::of_this_thread());
}

// What it has begun must not go on for a caller that does not know of it.
void Awaited::give_up_quietly() noexcept {
  try {
    give_up();
  } catch (...) {
    return;
  }
}

void Awaited::wake_at(TimePoint at) {
  const bool was_timed = timed_;
  // To wake the thread only for it to sleep again, for a shorter time, would cost more.
  timed_ = parker_ == nullptr || (!by_this_thread() && at < control_.end());
  if (timed_) return context_->timers->arm(timed(), at);
  if (was_timed) context_->timers->disarm(*this);
  control_.set_until(at);
}

void Awaited::finish(Outcome outcome) {
  if (timed_) context_->timers->disarm(*this);
  if (finished()) return;
  outcome_ = std::move(outcome);
  if (const auto completion = std::exchange(completion_, nullptr)) {
    reader_ = nullptr;
    return completion->done(id_, *outcome_);
  }
  if (parker_ == nullptr) return;
  control_.done.store(true, std::memory_order_release);
  wake(parker_);
}

// The waiting thread itself, busy with its own reply, sees for itself.
void Awaited::wake(Parker* parker) {
  if (parker != &Parker::of_this_thread()) WakeBatch::notify(*parker);
}

}  // namespace holdfast::sync
