#include "bindings/errors.h"

#include <new>
#include <optional>
#include <string>

#include "bindings/conversions.h"
#include "locks/locks.h"
#include "redis/base/status.h"
#include "redis/resp/reply.h"

namespace holdfast::bindings {

namespace py = pybind11;

using Role = sync::Exchange::Role;

py::object python_text(const std::string& message) {
  return py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
      message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
}

namespace {

py::object error_of(const char* name, const std::string& message) {
  return py::module_::import("holdfast._engine.errors").attr(name)(python_text(message));
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

PythonOutcome not_done(std::string_view name, const sync::Outcome& outcome) {
  const Status& why = outcome.why;
  if (why.ok()) return {py::bool_(false), {}};
  if (why.code() == Code::kLost) {  // an acquire would have hidden it
    return failure(error_of("LockLostError", lost_text(name, why.message())));
  }
  py::object refusal = exception_for(why);
  if (outcome.verdict != sync::Verdict::kTimedOut) return failure(std::move(refusal));
  // It is unknown whether another owner holds the lock: so the result is not False, but an error
  // with the refusal as its cause.
  py::object error = error_of("LockTimeout", "timed out acquiring " + quoted(name) +
                                                 ": server not ready (" + why.message() + ")");
  PyException_SetCause(error.ptr(), refusal.release().ptr());
  return failure(std::move(error));
}

// A map comes as a list: name, value, name, value, ... An error is an exception, not raised.
py::object converted(const resp::Reply& reply, const sync::Exchange& exchange) {
  if (reply.is_nil()) return py::none();
  if (reply.is_error()) {
    return exception_for(
        sync::error_status(reply.text(), exchange.name(), exchange.context().topology->text()));
  }
  if (reply.is_integer()) return py::int_(reply.integer());
  if (!reply.is_array()) return py::bytes(reply.text().data(), reply.text().size());
  py::list elements;
  for (std::size_t i = 0; i < reply.size(); ++i) elements.append(converted(reply.at(i), exchange));
  return elements;
}

// As RESP2 has them: member, score, member, score, ...
py::object with_scores(const resp::Reply& reply, const sync::Exchange& exchange) {
  const bool pairs = reply.is_array() && reply.size() > 0 && reply.at(0).is_array();
  if (!pairs) return converted(reply, exchange);
  py::list elements;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const resp::Reply pair = reply.at(i);
    for (std::size_t of = 0; of < pair.size(); ++of) {
      elements.append(py::bytes(pair.text_at(of).data(), pair.text_at(of).size()));
    }
  }
  return elements;
}

py::object converted(const sync::Exchange& exchange) {
  const sync::Exchange::Replies& replies = *exchange.replies();
  if (replies.one) return converted(*replies.all.front(), exchange);
  py::list list;
  for (std::size_t i = 0; i < replies.all.size(); ++i) {
    list.append(replies.scored[i] ? with_scores(*replies.all[i], exchange)
                                  : converted(*replies.all[i], exchange));
  }
  return list;
}

py::object answer(const sync::Exchange& exchange, const sync::Outcome& outcome) {
  if (exchange.role() == Role::kRelease) return py::none();
  if (exchange.replies() != nullptr) return converted(exchange);
  if (exchange.role() == Role::kAcquire) return py::bool_(true);
  return outcome.value ? py::object(py::int_(*outcome.value)) : py::none();
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
      break;
  }
  py::object error = error_of("ConnectionError", status.message());
  if (status.cause() == 0) return error;
  // The exception of an application's callable, if it is still known.
  py::object reason =
      py::module_::import("holdfast._clients.callables").attr("cause")(status.cause());
  if (!reason.is_none()) PyException_SetCause(error.ptr(), reason.release().ptr());
  return error;
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
  } catch (const py::cast_error& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  } catch (const py::builtin_exception& error) {
    error.set_error();
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

void raise_closed(const sync::Exchange& acquire) {
  raise(exception_for(sync::closed_status(acquire.name())));
}

std::string name_for(const engine::Client& client, const py::bytes& name,
                     const sync::Recipe& recipe) {
  std::string bytes(name);
  const Status fault = client.check_name(bytes, recipe);
  if (!fault.ok()) raise(exception_for(fault));
  return bytes;
}

PythonOutcome to_python(const sync::Exchange& exchange, const sync::Outcome& outcome) {
  using sync::Verdict;
  switch (outcome.verdict) {
    case Verdict::kGranted:
    case Verdict::kObjected:
      return {answer(exchange, outcome), {}};
    case Verdict::kBusy:
      if (exchange.role() != Role::kRelease) return {py::bool_(false), {}};
      return failure(error_of("NotOwnedError",
                              quoted(exchange.name().bytes()) +
                                  " is not held by the caller; only its owner can release it"));
    case Verdict::kGone:
      return lost(exchange.name().bytes(), outcome.why.message());
    case Verdict::kExpired:
      return lost(exchange.name().bytes(),
                  "its lease expired before the grant arrived; use a longer lease");
    case Verdict::kTimedOut:
    case Verdict::kFailed:
      return not_done(exchange.name().bytes(), outcome);
    case Verdict::kCancelled:
      break;
  }
  return {py::none(), {}};
}

namespace {

// The arguments of Python's functions: the text; the owner; the locks that may have been released
// by force, as the text says that the server no longer has their holds, each with the id of its
// client, its name, what precedes the reason in the text, and the reason; and whether the time of
// the caller is over. Nothing: no lock may have been.
std::optional<py::tuple> about(sync::Exchange& exchange, const py::str& text) {
  py::list parts;
  for (const sync::Exchange::Part& part : exchange.parts()) {
    const std::string title = part.title.empty() ? "" : part.title + ": ";
    for (const char* gone : lease::kGoneReasons) {
      if (!text.contains(python_text(title + gone))) continue;
      parts.append(
          py::make_tuple(part.client_id, py::bytes(part.name), python_text(title), py::str(gone)));
      break;
    }
  }
  if (parts.empty()) return std::nullopt;
  const bool late = exchange.role() == Role::kAcquire;
  return py::make_tuple(text, exchange.about().owner, parts, late);
}

}  // namespace

bool is_loss(const sync::Outcome& outcome) {
  using sync::Verdict;
  const bool refused = outcome.verdict == Verdict::kFailed && outcome.why.code() == Code::kLost;
  return refused || outcome.verdict == Verdict::kGone || outcome.verdict == Verdict::kExpired;
}

void explain(py::error_already_set& error, sync::Exchange& exchange) {
  const py::module_ errors = py::module_::import("holdfast._engine.errors");
  if (!error.matches(errors.attr("LockLostError"))) return;
  const std::optional<py::tuple> given = about(exchange, py::str(error.value()));
  if (!given) return;
  const py::object text =
      py::module_::import("holdfast._engine.events").attr("explained_text")(*(*given));
  error.value().attr("args") = py::make_tuple(text);
}

py::object loss_of(sync::Exchange& exchange, const py::str& text) {
  const std::optional<py::tuple> given = about(exchange, text);
  return given ? py::object(*given) : py::none();
}

py::object explanation(sync::Exchange& exchange, const sync::Outcome& outcome) {
  if (!is_loss(outcome)) return {};
  const std::optional<py::tuple> given = about(exchange, python_text(outcome.why.message()));
  if (!given) return {};
  return py::module_::import("holdfast._engine.loop").attr("explained")(*(*given));
}

void set_reason(sync::Outcome& outcome, const std::string& reason) {
  const bool refused = outcome.verdict == sync::Verdict::kFailed;
  outcome.why = refused ? Status::lost(reason) : Status::invalid(reason);
}

}  // namespace holdfast::bindings
