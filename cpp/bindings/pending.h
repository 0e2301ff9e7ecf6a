#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <unordered_map>

#include "bindings/errors.h"
#include "bindings/observer.h"
#include "engine/completion_queue.h"

namespace holdfast::bindings {

// The operations under way for one event loop of Python. Used with the GIL held, but for what the
// engine does with the queue inside.
class PendingQueue {
 public:
  PendingQueue();
  ~PendingQueue();  // the loop is gone: what was under way is given back
  PendingQueue(const PendingQueue&) = delete;
  PendingQueue& operator=(const PendingQueue&) = delete;

  int fd() const { return queue_->fd(); }

  // Starts an operation; its number, by which drain() tells of it.
  std::uint64_t start(OperationKind kind, const sync::ExchangePtr& operation);

  // The caller no longer waits for it: drain() does not return it.
  void cancel(std::uint64_t id);

  // Tuples (number, value, exception or None) of all that have ended.
  pybind11::list drain();

 private:
  struct Entry {
    OperationKind kind;
    sync::ExchangePtr operation;
    Observation observation;
  };

  static void observe(Entry& entry, const sync::Outcome& outcome);

  const std::shared_ptr<engine::CompletionQueue> queue_;
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::uint64_t last_ = 0;
};

}  // namespace holdfast::bindings
