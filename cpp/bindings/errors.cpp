#include "bindings/errors.h"

#include <new>
#include <string>

#include "base/shown.h"
#include "resp/error_reply.h"

namespace holdfast::bindings {

namespace py = pybind11;

py::object python_text(const std::string& message) {
  return py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
      message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
}

namespace {

py::object error_of(const char* name, const std::string& message) {
  return py::module_::import("holdfast._engine.errors").attr(name)(python_text(message));
}

// Its cause is the exception of an application's callable, if that is still known.
py::object caused(py::object error, std::uint64_t cause) {
  if (cause == 0) return error;
  py::object reason = py::module_::import("holdfast._clients.callables").attr("cause")(cause);
  if (!reason.is_none()) PyException_SetCause(error.ptr(), reason.release().ptr());
  return error;
}

PythonOutcome failure(py::object exception) { return {py::none(), std::move(exception)}; }

std::string lost_text(std::string_view name, const std::string& reason) {
  return "the hold on " + quoted(name) + " was lost: " + reason;
}

PythonOutcome lost(std::string_view name, const std::string& reason) {
  return failure(
      error_of("LockLostError",
               lost_text(name, reason) + "; another owner may have held it at the same time"));
}

// Of an acquire that would have hidden an earlier loss.
PythonOutcome hidden_loss(std::string_view name, const std::string& reason) {
  return failure(error_of("LockLostError", lost_text(name, reason)));
}

PythonOutcome not_owned(std::string_view name) {
  return failure(error_of(
      "NotOwnedError", quoted(name) + " is not held by the caller; only its owner can release it"));
}

// It is unknown whether another owner holds the lock: so the result is not False, but an error with
// the refusal as its cause.
py::object timed_out(std::string_view name, const Status& why) {
  const py::object cause = exception_for(why);
  py::object error = error_of("LockTimeout", "timed out acquiring " + quoted(name) +
                                                 ": server not ready (" + why.message() + ")");
  PyException_SetCause(error.ptr(), py::object(cause).release().ptr());
  return error;
}

PythonOutcome not_done(std::string_view name, const sync::Outcome& outcome) {
  if (outcome.why.ok()) return {py::bool_(false), {}};
  if (outcome.why.code() == Code::kLost) return hidden_loss(name, outcome.why.message());
  const bool late = outcome.verdict == sync::Verdict::kTimedOut;
  return failure(late ? timed_out(name, outcome.why) : exception_for(outcome.why));
}

py::object answer(OperationKind kind, const sync::Outcome& outcome) {
  if (kind == OperationKind::kAcquire) return py::bool_(true);
  if (kind == OperationKind::kRelease || !outcome.value) return py::none();
  return py::int_(*outcome.value);
}

}  // namespace

py::object exception_for(const Status& status) {
  switch (status.code()) {
    case Code::kServer: {
      py::object error = error_of("ServerError", status.message());
      error.attr("code") = status.word();
      error.attr("temporary") = resp::is_temporary(status.word());
      if (status.repeated()) error.attr("_repeated") = true;
      return error;
    }
    case Code::kUnderWay:
      return py::reinterpret_borrow<py::object>(PyExc_RuntimeError)(python_text(status.message()));
    case Code::kInvalid:
      return py::reinterpret_borrow<py::object>(PyExc_ValueError)(python_text(status.message()));
    default:
      return caused(error_of("ConnectionError", status.message()), status.cause());
  }
}

py::object exception_for(const LimitReached& limit) {
  py::object error = error_of("ConnectionError",
                              std::string("the client cannot start its threads: ") + limit.what());
  error.attr("errno") = limit.error();
  return error;
}

void translate_limit(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const LimitReached& limit) {
    const py::object error = exception_for(limit);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  }
}

void set_error(const std::exception_ptr& thrown) {
  try {
    translate_limit(thrown);
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void raise(const py::object& exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw py::error_already_set();
}

std::string name_for(const engine::Client& client, const py::bytes& name,
                     const sync::Recipe& recipe) {
  std::string bytes(name);
  const Status fault = client.check_name(bytes, recipe);
  if (!fault.ok()) raise(exception_for(fault));
  return bytes;
}

PythonOutcome to_python(OperationKind kind, std::string_view name, const sync::Outcome& outcome) {
  using sync::Verdict;
  switch (outcome.verdict) {
    case Verdict::kGranted:
      return {answer(kind, outcome), {}};
    case Verdict::kBusy:
      if (kind == OperationKind::kRelease) return not_owned(name);
      return {py::bool_(false), {}};
    case Verdict::kGone:
      return lost(name, outcome.why.message());
    case Verdict::kExpired:
      return lost(name, "its lease expired before the grant arrived; use a longer lease");
    case Verdict::kTimedOut:
    case Verdict::kFailed:
      return not_done(name, outcome);
    case Verdict::kCancelled:
      break;
  }
  return {py::none(), {}};
}

}  // namespace holdfast::bindings
