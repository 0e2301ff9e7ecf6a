#include "locks/engine/completion_queue.h"

#include <cerrno>
#include <utility>

#include "redis/base/process.h"

namespace holdfast::engine {

CompletionQueue::CompletionQueue()
    : loop_(std::make_shared<client::EventLoopReader>()), wake_(make_wake_up()) {
  if (!wake_.open()) throw LimitReached("eventfd", errno);
  loop_->watch(wake_.get());
}

void CompletionQueue::done(std::uint64_t id, sync::Outcome outcome) {
  const bool here = client::EventLoopReader::of_this_thread() == loop_.get();
  if (here && id == beginning_) {
    at_once_ = std::move(outcome);
    return;
  }
  if (here && loop_->turning()) {
    read_.emplace_back(id, std::move(outcome));
    return;
  }
  bool wakes = false;
  {
    const MutexLock lock(mutex_);
    done_.emplace_back(id, std::move(outcome));
    wakes = !woken_.exchange(true);
  }
  // After the unlock, so that the woken reader finds the lock free. A drain() in between makes this
  // wake-up unnecessary.
  if (wakes) wake(wake_.get());
}

void CompletionQueue::drain(std::vector<Done>& done) {
  loop_->turn();
  done.swap(read_);
  if (!woken_.load() && !done.empty()) return;
  clear_wake_up(wake_.get());
  const MutexLock lock(mutex_);
  woken_.store(false);
  for (Done& each : done_) done.push_back(std::move(each));
  done_.clear();
}

}  // namespace holdfast::engine
