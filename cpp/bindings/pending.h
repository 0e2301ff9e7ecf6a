#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "bindings/errors.h"
#include "bindings/observer.h"
#include "locks/engine/completion_queue.h"

namespace holdfast::bindings {

// The operations under way for one event loop of Python. Used on its thread, with the GIL held, but
// for what the engine does with the completions.
class PendingQueue {
 public:
  virtual ~PendingQueue() = default;
  PendingQueue(const PendingQueue&) = delete;
  PendingQueue& operator=(const PendingQueue&) = delete;

  // Readable when operations have ended, or are about to.
  int fd() const { return completions_->fd(); }

  // Starts an operation; by what the caller waits for it.
  virtual pybind11::object start(const sync::ExchangePtr& operation) = 0;

 protected:
  PendingQueue();
  engine::CompletionQueue& completions() { return *completions_; }
  const std::shared_ptr<engine::CompletionQueue>& shared_completions() { return completions_; }

 private:
  const std::shared_ptr<engine::CompletionQueue> completions_;
};

// The queue of a hub of greenlets, or of a run of trio: start() returns a number, by which drain()
// names the operation.
class NumberedQueue final : public PendingQueue {
 public:
  NumberedQueue() = default;
  ~NumberedQueue() override;  // the loop is gone: what was under way is given back

  pybind11::object start(const sync::ExchangePtr& operation) override;

  // The caller no longer waits for it: drain() does not return it.
  void cancel(std::uint64_t id);

  // Tuples (number, value, exception or None) of all that have ended.
  pybind11::list drain();

 private:
  struct Entry {
    sync::ExchangePtr operation;
    Observation observation;
  };

  static void observe(Entry& entry, const sync::Outcome& outcome);

  std::unordered_map<std::uint64_t, Entry> entries_;
  std::uint64_t last_id_ = 0;
};

}  // namespace holdfast::bindings
