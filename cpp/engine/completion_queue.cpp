#include "engine/completion_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace holdfast::engine {

CompletionQueue::CompletionQueue()
    : loop_(std::make_shared<client::EventLoopReader>()),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  loop_->watch(wake_);
}

CompletionQueue::~CompletionQueue() { ::close(wake_); }

void CompletionQueue::done(std::uint64_t id, sync::Outcome outcome) {
  const bool here = client::EventLoopReader::of_this_thread() == loop_.get();
  if (here && id == beginning_) {
    at_once_ = std::move(outcome);
    return;
  }
  const bool by_drain = here && loop_->turning();
  bool wakes = false;
  {
    const MutexLock lock(mutex_);
    wakes = done_.empty() && !by_drain;
    woken_ = woken_ || wakes;
    done_.emplace_back(id, std::move(outcome));
  }
  // After the unlock, so that the woken reader finds the lock free. A drain() in between makes this
  // wake-up unnecessary.
  if (wakes) eventfd_write(wake_, 1);
}

std::optional<sync::Outcome> CompletionQueue::begin(sync::Exchange& exchange, std::uint64_t id) {
  beginning_ = id;
  exchange.finish_to(shared_from_this(), id);
  beginning_ = 0;
  return std::exchange(at_once_, std::nullopt);
}

std::vector<CompletionQueue::Done> CompletionQueue::drain() {
  loop_->turn();
  const MutexLock lock(mutex_);
  if (std::exchange(woken_, false) || done_.empty()) {
    eventfd_t ignored = 0;
    eventfd_read(wake_, &ignored);
  }
  return std::exchange(done_, {});
}

}  // namespace holdfast::engine
