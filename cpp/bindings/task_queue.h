#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/critical_section.h"
#include "locks/locks.h"
#include "redis/client.h"

namespace holdfast::bindings {

struct Awaitable;

// Objects that are kept for the time of an operation, each with an id, which is used once: a late
// answer finds nothing. It allocates only when there are more of them than ever before.
class PendingResults {
 public:
  // Returns the id, which is not 0.
  std::uint64_t add(pybind11::object object) {
    if (free_.empty()) {
      free_.reserve(slots_.size() + 1);  // so that take() does not allocate
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    Slot& slot = slots_[place];
    slot.object = std::move(object);
    if (++slot.uses == 0) slot.uses = 1;
    return std::uint64_t{slot.uses} << 32U | place;
  }
  // Null: it has been taken.
  pybind11::object take(std::uint64_t id) {
    const auto place = static_cast<std::uint32_t>(id);
    if (place >= slots_.size() || slots_[place].uses != id >> 32U) return {};
    if (slots_[place].object) free_.push_back(place);
    return std::move(slots_[place].object);
  }

  bool empty() const { return free_.size() == slots_.size(); }
  bool holds_one() const { return free_.size() + 1 == slots_.size(); }
  void swap(PendingResults& other) noexcept {
    slots_.swap(other.slots_);
    free_.swap(other.free_);
  }
  template <typename Visit>
  int visit_all(const Visit& visit) const {
    for (const Slot& slot : slots_) {
      const int result = slot.object ? visit(slot.object.ptr()) : 0;
      if (result != 0) return result;
    }
    return 0;
  }

 private:
  struct Slot {
    pybind11::object object;  // null: it is free
    std::uint32_t uses = 0;
  };

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

// The operations under way for the tasks of one event loop. start() returns an Awaitable. In
// asyncio the task that called start() awaits it, once: `await` gives the result, or raises. When
// the task is cancelled, or its coroutine is closed, the operation is cancelled and its grant given
// back. For the tasks of another loop (a run of trio, a hub of greenlets) the caller of drain()
// gets the results, and close() of the Awaitable cancels its operation. Used on the loop's thread,
// with the GIL held, but for what the engine does with the completions.
class TaskQueue final {
 public:
  // `loop` is kept by a weak reference; `owners` are the numbers of its tasks, None where the loop
  // is not asyncio's.
  TaskQueue(const pybind11::object& loop, pybind11::object owners);
  ~TaskQueue() { end(); }
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  // Readable when operations have ended, or are about to.
  int fd() const { return completions_->fd(); }

  // The queue of the loop that runs on the calling thread; RuntimeError: none runs.
  static TaskQueue& of_running_loop();
  // The loop does not poll fd() any more: cancels the operations and gives their grants back.
  void end();

  // The number of the loop's current task, which gets one by the first call. RuntimeError: no task
  // runs.
  OwnerNumber owner() {
    const auto known = find_owner();
    return known ? *known : new_owner();
  }
  // The number of the loop's current task; that of no owner if it has none.
  OwnerNumber known_owner() const;

  pybind11::object start(const sync::ExchangePtr& operation);
  // start() for an Awaitable that there is.
  void begin(Awaitable& awaitable, const sync::ExchangePtr& operation);

  // The loop's callback for fd(): continues the tasks with ended operations. For another loop than
  // asyncio's: a list of tuples (Awaitable, value, exception or None) of all that have ended, which
  // Python's drain() with a dict passes on to greenlets.
  pybind11::object drain();

  // No task waits.
  bool idle() const;

  // For the garbage collector: the Awaitable that a task awaits keeps the task alive, as long as
  // the loop keeps this queue. clear() cancels the operations.
  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  friend struct Awaitable;

  using Ended = std::vector<pybind11::object>;

  // Any thread, as one may collect what a task has left. Null: it has been taken.
  pybind11::object take(std::uint64_t id) {
    const SharedLock lock(mutex_);
    return waiting_.take(id);
  }
  void step(const Ended& ended);
  static pybind11::list results_of(const Ended& ended);
  void look(const Awaitable& awaitable);
  pybind11::object loop() const;  // None: it is gone
  bool keeps_order(const pybind11::object& loop) const;
  std::optional<OwnerNumber> find_owner() const;
  static OwnerNumber new_owner();

  const pybind11::object loop_ref_;  // a weak reference
  const pybind11::object owners_;
  const bool continues_;   // drain() continues the tasks
  const bool sees_ready_;  // the loop's queue of callbacks can be seen
  const std::uint64_t epoch_;
  const std::shared_ptr<engine::CompletionQueue> completions_;
  mutable SharedMutex mutex_;
  PendingResults waiting_;  // the Awaitables; with the mutex, and destroyed without it
  // Filled by drain(), which keeps their memory.
  std::vector<engine::CompletionQueue::Done> done_;
  Ended ended_;
  // The only operation that is under way, where its time counts: see look().
  client::BusyPoll busy_poll_{true};
  client::BusyPoll::Reading reading_;
  client::BusyPoll::Time::time_point begun_{};
  std::uint64_t measured_ = 0;  // its id; 0: there is none
};

}  // namespace holdfast::bindings
