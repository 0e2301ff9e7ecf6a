#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <string>
#include <string_view>

#include "locks/locks.h"
#include "redis/base/process.h"

namespace holdfast::bindings {

// A name need not be UTF-8: other bytes are escaped.
pybind11::object python_text(const std::string& message);

// The exception (an instance of a class of holdfast._engine.errors) for a Status that is not OK.
pybind11::object exception_for(const Status& status);

// A ConnectionError with the limit's errno.
pybind11::object exception_for(const LimitReached& limit);

// Sets the Python error for what a C function has caught.
void set_error(const std::exception_ptr& thrown);

// Sets the Python error in functions of pybind11, for a LimitReached alone.
void translate_limit(std::exception_ptr thrown);

// Raises it.
[[noreturn]] void raise(const pybind11::object& exception);

// The result for an exchange's caller: a value, or the exception to raise.
struct PythonOutcome {
  pybind11::object value;
  pybind11::object exception;  // null: none
};
PythonOutcome to_python(const sync::Exchange& exchange, const sync::Outcome& outcome);

// Where close() has given back what an acquisition was granted.
[[noreturn]] void raise_closed(const sync::Exchange& acquire);

// The name that Python gives, once the client agrees (Client::check_name()); else raises.
std::string name_for(const engine::Client& client, const pybind11::bytes& name,
                     const sync::Recipe& recipe);

// Whether a caller gets LockLostError for it.
bool is_loss(const sync::Outcome& outcome);

// Every LockLostError of an operation is made of an outcome that went through one of these: where
// the server no longer has a hold, its record of who has released the lock by force is looked for.

// For a caller that waits on its thread, or as a greenlet: changes the error if it is such a
// LockLostError. It waits for the server, an acquire's caller not beyond its time.
void explain(pybind11::error_already_set& error, sync::Exchange& exchange);

// For a task of another loop than asyncio's: the arguments of explained_text() for the text of such
// a LockLostError. None: nothing to look for.
pybind11::object loss_of(sync::Exchange& exchange, const pybind11::str& text);

// For a task of asyncio: a coroutine whose result is the reason for set_reason(). Null: nothing to
// look for.
pybind11::object explanation(sync::Exchange& exchange, const sync::Outcome& outcome);
void set_reason(sync::Outcome& outcome, const std::string& reason);

}  // namespace holdfast::bindings
