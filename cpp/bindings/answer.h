#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>

#include "bindings/errors.h"
#include "bindings/observer.h"
#include "sync/operation.h"

namespace holdfast::bindings {

class TaskQueue;

// What a task awaits: the answer to an operation, made by TaskQueue::start(). It has what asyncio's
// Task asks of a Future, and no more; a Future takes two rounds of the event loop where this takes
// one. A native object of Python, used with the GIL held.
struct Answer {
  PyObject ob_base;
  TaskQueue* queue;  // null: the operation is over, or nothing waits for it
  std::uint64_t id;
  OperationKind kind;
  bool blocking;   // between the `yield` of the task and what asyncio makes of it
  bool cancelled;  // by cancel(): the task will be told
  bool over;       // the result was taken, or will not be
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

  // Has the loop call the task's next step; nothing when the task does not wait yet.
  void call_soon();
  // Calls it, within this call. Throws what ends the loop: SystemExit, KeyboardInterrupt.
  void step();
};

inline Answer& answer_of(PyObject* self) { return *reinterpret_cast<Answer*>(self); }

// The type of the object; made by the first call.
PyTypeObject* answer_type();

}  // namespace holdfast::bindings
