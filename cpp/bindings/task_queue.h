#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/types.h"
#include "bindings/critical_section.h"
#include "bindings/pending.h"

namespace holdfast::bindings {

struct Awaitable;

// The operations under way for the tasks of one event loop of asyncio. start() returns an
// Awaitable, to be awaited once, by the task that called start(): `await` gives the result, or
// raises. When the task is cancelled, or its coroutine is closed, the operation is cancelled and
// its grant given back.
class TaskQueue final : public PendingQueue {
 public:
  // `loop` is kept by a weak reference; `owners` are the numbers of its tasks.
  TaskQueue(const pybind11::object& loop, pybind11::dict owners);
  ~TaskQueue() override;  // the loop is gone: cancels the operations and gives their grants back

  // Of the loop that runs on the calling thread; RuntimeError: none runs.
  static TaskQueue& of_running_loop();
  // The loop does not poll fd() any more.
  void leave_loop();

  // The number of the loop's current task, which gets one by the first call. RuntimeError: no task
  // runs.
  OwnerNumber owner();
  // The same, or the number of no owner.
  OwnerNumber known_owner() const;

  pybind11::object start(const sync::ExchangePtr& operation) override;
  // The same for an Awaitable that there is.
  void begin(Awaitable& awaitable, const sync::ExchangePtr& operation);

  // The loop's callback for fd(): continues the tasks with ended operations.
  void drain();

  // No task waits.
  bool idle() const;

  // For the garbage collector: the Awaitable that a task awaits keeps the task alive, as long as
  // the loop keeps this queue. clear() cancels the operations.
  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  friend struct Awaitable;

  using Waiting = std::unordered_map<std::uint64_t, pybind11::object>;  // Awaitables

  void add(const Awaitable& awaitable);
  // Any thread, as one may collect what a task has left. Null: it has been taken.
  pybind11::object take(std::uint64_t id);
  std::vector<pybind11::object> settled();
  pybind11::object loop() const;  // None: it is gone
  bool keeps_order(const pybind11::object& loop) const;
  bool runs_here(const pybind11::object& loop) const;
  std::optional<OwnerNumber> find_owner() const;

  const pybind11::object loop_ref_;  // a weak reference
  const pybind11::dict owners_;
  const bool sees_ready_;  // the loop's queue of callbacks can be seen
  const std::uint64_t epoch_;
  mutable SharedMutex mutex_;
  Waiting waiting_;  // with the mutex; its elements are destroyed without it
};

}  // namespace holdfast::bindings
