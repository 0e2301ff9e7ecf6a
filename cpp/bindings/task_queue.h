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
// to be awaited once, by the task that called start(): `await` gives the result, or raises. A task
// that is cancelled meanwhile, or whose coroutine is closed, cancels the operation; what was
// granted is given back.
class TaskQueue final : public PendingQueue {
 public:
  explicit TaskQueue(const pybind11::object& loop);  // kept by a weak reference
  ~TaskQueue() override;  // the loop is gone: what was under way is given back

  pybind11::object start(OperationKind kind, const sync::ExchangePtr& operation) override;

  // The loop's callback for fd(): has the tasks go on whose operations have ended.
  void drain();

  // No task waits.
  bool idle() const { return waiting_.empty(); }

  // For the garbage collector: a task that waits is kept by what it waits for, as long as the loop
  // keeps this queue; and the end of what was under way.
  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  friend struct Answer;

  std::vector<pybind11::object> settled();

  const pybind11::object loop_;                                  // a weak reference
  std::unordered_map<std::uint64_t, pybind11::object> waiting_;  // Answers
};

}  // namespace holdfast::bindings
