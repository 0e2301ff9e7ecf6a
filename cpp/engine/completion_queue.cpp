#include "engine/completion_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace holdfast::engine {

CompletionQueue::CompletionQueue() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

CompletionQueue::~CompletionQueue() { ::close(fd_); }

void CompletionQueue::done(std::uint64_t id, sync::Outcome outcome) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (done_.empty()) eventfd_write(fd_, 1);
  done_.emplace_back(id, std::move(outcome));
}

std::vector<CompletionQueue::Done> CompletionQueue::drain() {
  const std::lock_guard<std::mutex> lock(mutex_);
  eventfd_t ignored = 0;
  eventfd_read(fd_, &ignored);
  return std::exchange(done_, {});
}

}  // namespace holdfast::engine
