#include "engine/completion_queue.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/process.h"
#include "base/thread.h"

namespace holdfast::engine {

namespace {

int watched_wake_up(client::EventLoopReader& loop) {
  const int fd = make_wake_up();
  if (fd < 0) throw LimitReached("eventfd", errno);
  try {
    loop.watch(fd);
  } catch (...) {
    ::close(fd);
    throw;
  }
  return fd;
}

}  // namespace

CompletionQueue::CompletionQueue()
    : loop_(std::make_shared<client::EventLoopReader>()), wake_(watched_wake_up(*loop_)) {}

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
  if (wakes) wake(wake_);
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
    clear_wake_up(wake_);
  }
  return std::exchange(done_, {});
}

}  // namespace holdfast::engine
