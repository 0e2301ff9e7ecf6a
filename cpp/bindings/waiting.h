#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "bindings/errors.h"
#include "sync/operation.h"

namespace holdfast::bindings {

// Waits for an operation on the calling thread, without the GIL; the main thread looks for signals
// meanwhile. Raises what the operation ends with, or what a signal's handler raises.
pybind11::object wait_for(OperationKind kind, const sync::ExchangePtr& operation);

// To be called before what may be lost later: starts the thread that tells of losses unless it
// runs.
void events_needed();

// Python: whether that thread runs, in this process.
void set_events_running(bool running);

// Waits, without the GIL, until no thread is inside wait_for() or asks for a password any more, or
// at most for `seconds`.
void see_out(double seconds);

}  // namespace holdfast::bindings
