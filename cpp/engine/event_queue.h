#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "lease/hold.h"

namespace holdfast::engine {

// The events of all clients of a process, for one thread that takes them out. Thread-safe.
class EventQueue final : public lease::EventSink {
 public:
  void post(lease::Event event) override;

  // Blocks until there is an event; nothing once stop() was called and the queue is empty.
  std::optional<lease::Event> next();

  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<lease::Event> events_;
  bool stopped_ = false;
};

}  // namespace holdfast::engine
