#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>

#include "bindings/errors.h"
#include "bindings/observer.h"
#include "locks/locks.h"

namespace holdfast::bindings {

class TaskQueue;
struct Awaitable;

// The kind of an awaitable that begins when it is awaited first. Its functions throw what the task
// gets.
struct AwaitableKind {
  const char* title;                              // as the interpreter names a coroutine
  void (*begin)(Awaitable& awaitable);            // calls TaskQueue::begin()
  pybind11::object (*end)(Awaitable& awaitable);  // the result, made of the outcome
  // Before that, a coroutine that raises in the place of the result; an empty object: there is
  // none.
  pybind11::object (*fail)(Awaitable& awaitable) = nullptr;
};

// The awaitable of an operation. It has only those methods of a Future that asyncio's Task calls; a
// Future takes two rounds of the event loop, this takes one: see step(). A lazy one begins, like a
// coroutine, in the task that awaits it; until then it is a coroutine to asyncio, and no Future. A
// native object of Python, used on its loop's thread, but for its end.
struct Awaitable {
  // The arguments of begin() of a lazy one.
  struct Arguments {
    PyObject* subject;  // the lock
    PyObject* body;     // the error of the block that ends; null: none
    Lease lease;
    Duration timeout;
    bool blocking;
    bool deferred;
    bool block;  // `async with` begins or ends
  };

  PyObject ob_base;
  TaskQueue* queue;           // null: the operation is over, or no task waits for it
  const AwaitableKind* lazy;  // null: the operation began when the object was made
  std::uint64_t id;
  bool fresh;      // it is lazy, and has not begun
  bool blocking;   // set by `yield`, cleared by asyncio's Task
  bool cancelled;  // by cancel(): the task gets CancelledError
  bool over;       // the result was taken, or is no longer needed
  bool explained;  // `looks` has ended, or is not needed
  Arguments arguments;
  sync::ExchangePtr operation;
  Observation observation;
  std::optional<sync::Outcome> outcome;
  PyObject* loop;
  PyObject* callback;  // the task's next step; null: it does not wait yet
  PyObject* context;
  PyObject* message;  // cancel()'s; may be null
  PyObject* looks;    // the coroutine that finds out why the hold was lost, or fail()'s; null: none

  bool done() const { return outcome || cancelled; }
  bool granted() const { return outcome && outcome->verdict == sync::Verdict::kGranted; }
  PyObject* object() { return &ob_base; }
  // The outcome as Python has it; throws its error.
  pybind11::object value();
  void leave_queue();

  // The argument of the task's next step: what is done.
  PyObject* awaited();
  // Schedules the task's next step with the loop, if the task already waits.
  void call_soon();
  // Calls the next step directly, where that overtakes no callback that is due: one of them may
  // cancel the task. Throws the exceptions that end the loop: SystemExit, KeyboardInterrupt.
  void step();
};

// A new one, whose operation begins at once, or, with `lazy`, when it is awaited.
pybind11::object new_awaitable(const AwaitableKind* lazy);

inline Awaitable& awaitable_of(PyObject* self) { return *reinterpret_cast<Awaitable*>(self); }

// Makes the type of the object, before any of them.
void make_awaitable_type();

}  // namespace holdfast::bindings
