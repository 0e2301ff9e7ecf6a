#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "base/types.h"
#include "bindings/errors.h"
#include "engine/lockable.h"
#include "sync/operation.h"

namespace holdfast::bindings {

// Waits for an operation on the calling thread, without the GIL; the main thread looks for signals
// meanwhile. Raises what the operation ends with, or what a signal's handler raises.
pybind11::object wait_for(OperationKind kind, const sync::ExchangePtr& operation);

// The same of an acquisition and a release of a lock, which may take the plain path; whether it was
// granted.
bool wait_to_acquire(const engine::Lockable& lock, const engine::Lockable::Attempt& attempt);
void wait_to_release(const engine::Lockable& lock, OwnerNumber owner, bool all);

// To be called before what may be lost later: starts the thread that tells of losses unless it
// runs.
void events_needed();

// The owner that calls: the current greenlet where gevent has patched Python, else the thread.
OwnerNumber calling_owner();

// The calling thread runs an event loop of asyncio, which a wait would block.
bool runs_event_loop();

// From now on to the interpreter's end, threads but the calling one do not return from wait_for():
// they would print tracebacks, or crash.
void begin_exit();
bool exiting();

// What a greenlet waits for: see set_greenlets().
struct Waitable {
  OperationKind kind;
  sync::ExchangePtr operation;
};

// Python, once gevent has patched: `wait(waitable)` waits for it as a greenlet and returns the
// answer, or NotImplemented where the caller is none; `owner()` is the number of the current
// greenlet, or 0 where the thread is the owner.
void set_greenlets(const pybind11::object& wait, const pybind11::object& owner);

// Waits, without the GIL, until no thread is inside wait_for() or asks for a password any more, or
// at most for `seconds`.
void see_out(double seconds);

}  // namespace holdfast::bindings
