#include "engine/event_queue.h"

#include <utility>

namespace holdfast::engine {

void EventQueue::post(lease::Event event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  events_.push_back(std::move(event));
  wake_.notify_one();
}

std::optional<lease::Event> EventQueue::next() {
  std::unique_lock<std::mutex> lock(mutex_);
  wake_.wait(lock, [this] { return stopped_ || !events_.empty(); });
  if (events_.empty()) return std::nullopt;
  lease::Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void EventQueue::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
  wake_.notify_all();
}

}  // namespace holdfast::engine
