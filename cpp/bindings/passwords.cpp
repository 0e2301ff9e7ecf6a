#include "bindings/passwords.h"

#include <pybind11/pybind11.h>

#include <atomic>
#include <optional>
#include <string>
#include <system_error>

#include "base/process.h"
#include "base/thread.h"
#include "bindings/register.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

using Outcome = Result<net::Credentials>;

std::atomic<int> g_requests{0};
std::atomic<bool> g_stopped{false};

// A child does not have the threads of its parent.
const bool g_forgets_in_child = (call_in_child([] { g_requests.store(0); }), true);

// Of the error no more than its type: its text may name the password.
Outcome unusable() {
  PyObject* const error = PyErr_Occurred();
  const std::string type =
      error != nullptr ? reinterpret_cast<PyTypeObject*>(error)->tp_name : "the program is ending";
  PyErr_Clear();
  return Status::unreachable("the callable given as password could not be called: " + type);
}

// A str of a tuple; empty if it is not a str.
std::optional<std::string> text_at(PyObject* tuple, Py_ssize_t index) {
  PyObject* item = PyTuple_GetItem(tuple, index);
  Py_ssize_t size = 0;
  const char* text = item == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(item, &size);
  if (text == nullptr) return std::nullopt;
  return std::string(text, static_cast<std::size_t>(size));
}

// The result of holdfast._passwords.ask(): (user name, password, "", 0) or ("", "", message, number
// of the exception).
Outcome read(PyObject* answer) {
  const std::optional<std::string> username = text_at(answer, 0);
  const std::optional<std::string> password = text_at(answer, 1);
  const std::optional<std::string> message = text_at(answer, 2);
  PyObject* number = PyTuple_GetItem(answer, 3);
  if (!username || !password || !message || number == nullptr) return unusable();
  const std::uint64_t cause = PyLong_AsUnsignedLongLong(number);
  if (cause != 0) return Status::unreachable(*message).caused_by(cause);
  return net::Credentials{*username, *password};
}

// With the GIL. The references are released by hand: at the interpreter's end, taking the GIL back
// inside the callable ends the thread, and no destructor may touch an object then.
Outcome call(std::uint64_t number) {
  PyObject* module = PyImport_ImportModule("holdfast._passwords");
  if (module == nullptr) return unusable();
  PyObject* answer =
      PyObject_CallMethod(module, "ask", "K", static_cast<unsigned long long>(number));
  Py_DECREF(module);
  if (answer == nullptr) return unusable();
  Outcome outcome = read(answer);
  Py_DECREF(answer);
  return outcome;
}

Status stopped() { return Status::unreachable("no password: the interpreter is ending"); }

void answer(net::CredentialRequest& request, std::uint64_t number) {
  if (g_stopped) return request.answer(stopped());
  const PyGILState_STATE state = PyGILState_Ensure();
  Outcome outcome = call(number);
  PyGILState_Release(state);
  request.answer(std::move(outcome));
}

}  // namespace

std::shared_ptr<net::CredentialRequest> request_password(std::uint64_t number) {
  (void)g_forgets_in_child;
  auto request = std::make_shared<net::CredentialRequest>();
  if (request->done()) return request;
  if (g_stopped) {
    request->answer(stopped());
    return request;
  }
  g_requests.fetch_add(1);
  try {
    start_thread("holdfast-pass", [request, number, epoch = fork_epoch()] {
      answer(*request, number);
      if (epoch == fork_epoch()) g_requests.fetch_sub(1);
    }).detach();
  } catch (const std::system_error& error) {
    g_requests.fetch_sub(1);
    request->answer(
        Status::unreachable(std::string("no thread for the password: ") + error.what()));
  }
  return request;
}

int passwords_requested() { return g_requests.load(); }

void register_passwords(py::module_& module) {
  module.def("stop_passwords", [] { g_stopped.store(true); });
}

}  // namespace holdfast::bindings
