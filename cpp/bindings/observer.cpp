#include "bindings/observer.h"

#include <string>
#include <utility>

#include "bindings/conversions.h"
#include "bindings/errors.h"
#include "bindings/waiting.h"

namespace holdfast::bindings {

namespace py = pybind11;

using Role = sync::Exchange::Role;

namespace {

// Leaked: at the interpreter's end it is too late to release it. With the mutex.
PyObject* g_observer = nullptr;
SharedMutex g_mutex;

// Null: there is none.
py::object current_observer() {
  const SharedLock lock(g_mutex);
  return py::reinterpret_borrow<py::object>(g_observer);
}

// Returns the one before.
py::object replace_observer(py::object observer) {
  const SharedLock lock(g_mutex);
  return py::reinterpret_steal<py::object>(std::exchange(g_observer, observer.release().ptr()));
}

// The words of holdfast.outcome.
const char* word(sync::Verdict verdict) {
  using sync::Verdict;
  switch (verdict) {
    case Verdict::kGranted:
      return "acquired";
    case Verdict::kBusy:
    case Verdict::kTimedOut:
      return "timed_out";
    case Verdict::kCancelled:
      return "cancelled";
    case Verdict::kGone:
    case Verdict::kObjected:
    case Verdict::kExpired:
    case Verdict::kFailed:
      break;
  }
  return "failed";
}

// Whether a release with it is done, or goes on without its caller: the hold has ended for it.
bool is_begun(sync::Verdict verdict) {
  using sync::Verdict;
  return verdict == Verdict::kGranted || verdict == Verdict::kCancelled ||
         verdict == Verdict::kFailed;
}

template <typename... Args>
void notify(const py::object& observer, const char* what, Args&&... args) {
  try {
    observer.attr(what)(std::forward<Args>(args)...);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    error.discard_as_unraisable(what);
  }
}

}  // namespace

void set_observer(const py::object& observer) {
  const py::object before = replace_observer(observer.is_none() ? py::object() : observer);
  Observation::observed_ = !observer.is_none();
}

void Observation::begin(sync::Exchange& exchange) {
  if (exchange.role() == Role::kCall) return;
  const sync::Exchange::About about = exchange.about();
  if (about.kind.empty()) return;
  const py::object observer = current_observer();
  if (!observer) return;  // another thread has removed it
  const FramesAside aside;
  try {
    const py::bytes name(exchange.name().bytes());
    if (exchange.role() == Role::kAcquire)
      begun_ = observer.attr("begun")(std::string(about.kind), name);
    observer_ = observer;
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    error.discard_as_unraisable("begun");
  }
}

void Observation::end(sync::Exchange& exchange, const sync::Outcome& outcome) {
  const py::object observer = std::exchange(observer_, py::object());
  const FramesAside aside;
  const sync::Exchange::About about = exchange.about();
  const py::bytes name(exchange.name().bytes());
  const std::string client(exchange.client_id());
  if (exchange.role() == Role::kAcquire) {
    notify(observer, "ended", begun_, word(outcome.verdict), client, about.owner);
  } else if (about.last && is_begun(outcome.verdict)) {
    notify(observer, "released", name, client, about.owner);
  }
  if (is_loss(outcome)) {
    notify(observer, "lost", name, client, about.owner, outcome.why.message());
  }
}

}  // namespace holdfast::bindings
