#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "bindings/conversions.h"
#include "bindings/errors.h"
#include "locks/locks.h"

namespace holdfast::bindings {

// pybind11 keeps the bound functions that run on a thread as a stack, and aborts the process when
// they end in another order, as those of greenlets do. While one of these exists, other greenlets
// do not see the bound functions below: for Python code that may switch to them.
class FramesAside {
 public:
  FramesAside();
  ~FramesAside();
  FramesAside(const FramesAside&) = delete;
  FramesAside& operator=(const FramesAside&) = delete;

 private:
  void* const top_;
};

// Waits for an operation on the calling thread, without the GIL; the main thread handles signals in
// between. Raises the operation's error, or that of a signal handler.
pybind11::object wait_for(const sync::ExchangePtr& operation);

// wait_for() where calling_owner() has just been asked, which has seen whether gevent has patched.
pybind11::object wait_as_owner(const sync::ExchangePtr& operation);

// Raises RuntimeError while that owner is acquiring the lock: a signal handler that interrupts an
// acquire() must not use the same lock.
void refuse_inside_acquire(const engine::Lockable& lock, OwnerNumber owner);

// To be called before an acquisition: starts the thread that reports losses unless it runs.
void start_events();
inline void events_needed() {
  if (!engine::Engine::instance().events()->runs()) start_events();
}

// The calling thread runs an event loop of asyncio, which a wait would block.
bool runs_event_loop();

// From now on, other threads than the calling one do not return from wait_for(): at the
// interpreter's end they would print tracebacks, or crash.
void begin_exit();
bool exiting();

// Sets the Python functions for gevent, once it has patched: `wait(exchange)` waits as a greenlet
// and returns the answer, or NotImplemented if the caller is not a greenlet; `owner()` is the
// number of the current greenlet, or 0 if the thread is the owner.
void set_greenlets(const pybind11::object& wait, const pybind11::object& owner);

// Waits, without the GIL, until no thread is inside wait_for() or calls a password callable, for at
// most `seconds`. The interpreter's end calls it, with the clients closed; it releases no lock, as
// that would need a server that may be out of reach.
void see_out(double seconds);

}  // namespace holdfast::bindings
