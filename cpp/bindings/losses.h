#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "bindings/errors.h"
#include "sync/operation/operation.h"

namespace holdfast::bindings {

// Whether a caller gets LockLostError for it.
bool is_loss(const sync::Outcome& outcome);

// Every LockLostError of an operation is made of an outcome that went through one of these: where
// the server no longer has a hold, its record of who has released the lock by force is looked for.

// Of a caller that waits on its thread, or as a greenlet: changes the error if it is such a
// LockLostError. It waits for the server, an acquire's caller not beyond its time.
void explain(pybind11::error_already_set& error, OperationKind kind, sync::Exchange& exchange);

// Of a task: a coroutine whose result is the reason for set_reason(). Null: nothing to look for.
pybind11::object explanation(OperationKind kind, sync::Exchange& exchange,
                             const sync::Outcome& outcome);
void set_reason(sync::Outcome& outcome, const std::string& reason);

}  // namespace holdfast::bindings
