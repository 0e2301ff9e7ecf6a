#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>

#include "bindings/errors.h"
#include "bindings/observer.h"
#include "sync/operation.h"

namespace holdfast::bindings {

class TaskQueue;

// The awaitable of an operation, made by TaskQueue::start(). It has only those methods of a Future
// that asyncio's Task calls; a Future takes two rounds of the event loop, this takes one. A native
// object of Python, used with the GIL held.
struct Answer {
  PyObject ob_base;
  TaskQueue* queue;  // null: the operation is over, or no task waits for it
  std::uint64_t id;
  OperationKind kind;
  bool blocking;   // set by `yield`, cleared by asyncio's Task
  bool cancelled;  // by cancel(): the task gets CancelledError
  bool over;       // the result was taken, or is no longer needed
  sync::ExchangePtr operation;
  Observation observation;
  std::optional<sync::Outcome> outcome;
  PyObject* loop;
  PyObject* callback;  // the task's next step; null: it does not wait yet
  PyObject* context;
  PyObject* message;  // of cancel(); may be null

  bool done() const { return outcome || cancelled; }
  PyObject* object() { return &ob_base; }
  void leave_queue();

  // Schedules the task's next step with the loop, if the task already waits.
  void call_soon();
  // Calls the next step directly. Throws the exceptions that end the loop: SystemExit,
  // KeyboardInterrupt.
  void step();
};

inline Answer& answer_of(PyObject* self) { return *reinterpret_cast<Answer*>(self); }

// The type of the object; made by the first call.
PyTypeObject* answer_type();

}  // namespace holdfast::bindings
