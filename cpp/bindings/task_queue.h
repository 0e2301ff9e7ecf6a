#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "bindings/pending.h"

namespace holdfast::bindings {

struct Answer;

// The operations under way for the tasks of one event loop of asyncio. start() returns an Answer,
// to be awaited once, by the task that called start(): `await` gives the result, or raises. When
// the task is cancelled, or its coroutine is closed, the operation is cancelled and its grant given
// back.
class TaskQueue final : public PendingQueue {
 public:
  explicit TaskQueue(const pybind11::object& loop);  // kept by a weak reference
  ~TaskQueue() override;  // the loop is gone: cancels the operations and gives their grants back

  pybind11::object start(OperationKind kind, const sync::ExchangePtr& operation) override;

  // The loop's callback for fd(): continues the tasks with ended operations.
  void drain();

  // No task waits.
  bool idle() const { return waiting_.empty(); }

  // For the garbage collector: the Answer that a task awaits keeps the task alive, as long as the
  // loop keeps this queue. clear() cancels the operations.
  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  friend struct Answer;

  std::vector<pybind11::object> settled();

  const pybind11::object loop_;                                  // a weak reference
  std::unordered_map<std::uint64_t, pybind11::object> waiting_;  // Answers
};

}  // namespace holdfast::bindings
