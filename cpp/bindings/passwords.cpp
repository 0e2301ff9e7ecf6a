#include "bindings/passwords.h"

#include <pybind11/pybind11.h>

#include <atomic>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "redis/base/process.h"

namespace holdfast::bindings {

namespace {

std::atomic<int> g_requests{0};
std::atomic<bool> g_stopped{false};

// A child does not have the threads of its parent.
const bool g_forgets_in_child = (call_in_child([] { g_requests.store(0); }), true);

// A function of holdfast._clients.callables, and the argument of Client() whose callable it calls.
struct Asked {
  const char* function;
  const char* argument;
};
constexpr Asked kPassword{"ask_password", "password"};
constexpr Asked kAddressMap{"ask_address", "address_map"};

using Pair = std::pair<std::string, std::string>;

// The error by its type alone: its text may name the password.
Status unusable(const Asked& asked) {
  PyObject* const error = PyErr_Occurred();
  const std::string type =
      error != nullptr ? reinterpret_cast<PyTypeObject*>(error)->tp_name : "the program is ending";
  PyErr_Clear();
  return Status::unreachable(std::string("the callable given as ") + asked.argument +
                             " could not be called: " + type);
}

// A str of a tuple; empty if it is not a str.
std::optional<std::string> text_at(PyObject* tuple, Py_ssize_t index) {
  PyObject* item = PyTuple_GetItem(tuple, index);
  Py_ssize_t size = 0;
  const char* text = item == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(item, &size);
  if (text == nullptr) return std::nullopt;
  return std::string(text, static_cast<std::size_t>(size));
}

// The result of a module's ask(): (text, text, "", 0) or ("", "", message, number of the
// exception).
Result<Pair> read(const Asked& asked, PyObject* answer) {
  const std::optional<std::string> first = text_at(answer, 0);
  const std::optional<std::string> second = text_at(answer, 1);
  const std::optional<std::string> message = text_at(answer, 2);
  PyObject* number = PyTuple_GetItem(answer, 3);
  if (!first || !second || !message || number == nullptr) return unusable(asked);
  const std::uint64_t cause = PyLong_AsUnsignedLongLong(number);
  if (cause != 0) return Status::unreachable(*message).caused_by(cause);
  return Pair{*first, *second};
}

// With the GIL. The references are released by hand: at the interpreter's end, taking the GIL back
// inside the callable ends the thread, and no destructor may touch an object then.
template <typename... Arguments>
Result<Pair> call(const Asked& asked, const char* format, Arguments... arguments) {
  PyObject* module = PyImport_ImportModule("holdfast._clients.callables");
  if (module == nullptr) return unusable(asked);
  PyObject* answer = PyObject_CallMethod(module, asked.function, format, arguments...);
  Py_DECREF(module);
  if (answer == nullptr) return unusable(asked);
  Result<Pair> outcome = read(asked, answer);
  Py_DECREF(answer);
  return outcome;
}

Status stopped(const Asked& asked) {
  return Status::unreachable(std::string("no ") + asked.argument + ": the interpreter is ending");
}

// Answers the request by `ask`, on a thread that takes the GIL for it.
template <typename Value, typename Ask>
std::shared_ptr<net::ValueRequest<Value>> request(const Asked& asked, Ask ask) {
  (void)g_forgets_in_child;
  auto request = std::make_shared<net::ValueRequest<Value>>();
  if (request->done()) return request;
  if (g_stopped) {
    request->answer(stopped(asked));
    return request;
  }
  g_requests.fetch_add(1);
  try {
    start_thread("holdfast-pass", [request, asked, ask = std::move(ask), epoch = fork_epoch()] {
      if (g_stopped) {
        request->answer(stopped(asked));
      } else {
        const PyGILState_STATE state = PyGILState_Ensure();
        Result<Value> outcome = ask();
        PyGILState_Release(state);
        request->answer(std::move(outcome));
      }
      if (epoch == fork_epoch()) g_requests.fetch_sub(1);
    }).detach();
  } catch (const LimitReached& limit) {
    g_requests.fetch_sub(1);
    request->answer(Status::unreachable(std::string("no ") + asked.argument + ": " + limit.what()));
  }
  return request;
}

}  // namespace

std::shared_ptr<net::CredentialRequest> request_password(std::uint64_t number) {
  return request<net::Credentials>(kPassword, [number]() -> Result<net::Credentials> {
    Result<Pair> answer = call(kPassword, "K", static_cast<unsigned long long>(number));
    if (!answer.ok()) return answer.status();
    return net::Credentials{answer.value().first, answer.value().second};
  });
}

std::shared_ptr<net::AddressRequest> request_address(std::uint64_t number,
                                                     const net::Address& announced) {
  return request<net::Address>(kAddressMap, [number, announced]() -> Result<net::Address> {
    Result<Pair> answer = call(kAddressMap, "Ksi", static_cast<unsigned long long>(number),
                               announced.host.c_str(), static_cast<int>(announced.port));
    if (!answer.ok()) return answer.status();
    net::Address address;
    address.host = answer.value().first;
    const std::string& port = answer.value().second;
    std::from_chars(port.data(), port.data() + port.size(), address.port);
    return address;
  });
}

int passwords_requested() { return g_requests.load(); }

void stop_passwords() { g_stopped.store(true); }

}  // namespace holdfast::bindings
