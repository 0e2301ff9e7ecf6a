#include "locks/engine/event_queue.h"

#include <utility>

namespace holdfast::engine {

void EventQueue::post(Entry entry) {
  const MutexLock lock(mutex_);
  if (!runs_ && events_.size() >= kMostUnread) events_.pop_front();
  events_.push_back(std::move(entry));
  wake_.notify_one();
}

std::uint64_t EventQueue::begin() {
  const MutexLock lock(mutex_);
  runs_ = true;
  wake_.notify_all();  // the thread of an earlier run ends
  return ++run_;
}

std::optional<EventQueue::Entry> EventQueue::next(std::uint64_t run) {
  const MutexLock lock(mutex_);
  while (runs_ && run == run_ && events_.empty()) wake_.wait(mutex_);
  if (events_.empty()) return std::nullopt;
  Entry entry = std::move(events_.front());
  events_.pop_front();
  return entry;
}

void EventQueue::stop() {
  const MutexLock lock(mutex_);
  runs_ = false;
  wake_.notify_all();
}

}  // namespace holdfast::engine
