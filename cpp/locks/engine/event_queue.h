#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "locks/base/event.h"
#include "redis/base/mutex.h"

namespace holdfast::engine {

// The events of all clients of a process, for one reading thread. Thread-safe.
class EventQueue {
 public:
  // Without a run of the reading thread only the latest ones are kept.
  static constexpr std::size_t kMostUnread = 1000;

  struct Entry {
    std::string client;  // its id
    Event event;
  };

  void post(Entry entry);

  // Begins a run of the reading thread; the run's number.
  std::uint64_t begin();
  // Blocks until there is an event; empty once the run was stopped and the queue is empty.
  std::optional<Entry> next(std::uint64_t run);
  // Ends the run, if there is one.
  void stop();
  // A run was begun and not stopped.
  bool runs() const { return runs_.load(std::memory_order_relaxed); }

 private:
  Mutex mutex_;
  Condition wake_;
  std::deque<Entry> events_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t run_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  SharedAtomic<bool> runs_{false};
};

// Where one client's events go.
class ClientEvents final : public EventSink {
 public:
  ClientEvents(std::shared_ptr<EventQueue> queue, std::string client)
      : queue_(std::move(queue)), client_(std::move(client)) {}
  void post(Event event) override { queue_->post({client_, std::move(event)}); }

 private:
  const std::shared_ptr<EventQueue> queue_;
  const std::string client_;
};

}  // namespace holdfast::engine
