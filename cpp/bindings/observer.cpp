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
  py::object before = observer.is_none() ? py::object() : observer;
  {
    const SharedLock lock(g_mutex);
    before = py::reinterpret_steal<py::object>(
        std::exchange(g_observer, std::move(before).release().ptr()));
  }
  Observation::observed_ = !observer.is_none();
}

void Observation::begin(sync::Exchange& exchange) {
  if (exchange.role() == Role::kCall) return;
  const sync::Exchange::About about = exchange.about();
  if (about.kind.empty()) return;
  py::object observer;
  {
    const SharedLock lock(g_mutex);
    observer = py::reinterpret_borrow<py::object>(g_observer);
  }
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
  const std::string client = exchange.context().client_id;
  using sync::Verdict;
  // A release that is done, or goes on without its caller: the hold has ended for it.
  const bool ended = outcome.verdict == Verdict::kGranted ||
                     outcome.verdict == Verdict::kCancelled || outcome.verdict == Verdict::kFailed;
  if (exchange.role() == Role::kAcquire) {
    notify(observer, "ended", begun_, word(outcome.verdict), client, about.owner);
  } else if (about.last && ended) {
    notify(observer, "released", name, client, about.owner);
  }
  if (is_loss(outcome)) {
    notify(observer, "lost", name, client, about.owner, outcome.why.message());
  }
}

}  // namespace holdfast::bindings
