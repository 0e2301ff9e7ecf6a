// The methods of semaphores for threads that must not be interrupted between the grant and their
// return: see blocking_lock.cpp.

#include <memory>
#include <utility>

#include "bindings/native_object.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "engine/counter.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace blocking_semaphore {
namespace {

struct SemaphoreState final : NativeState {
  std::shared_ptr<engine::Counter> semaphore;
  Duration wait{};
};

PyObject* bind(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> py::object {
    const auto said = py::reinterpret_borrow<py::tuple>(arguments);
    auto state = std::make_unique<SemaphoreState>();
    state->semaphore = said[0].cast<std::shared_ptr<engine::Counter>>();
    state->wait = wait_time(said[1].cast<double>());
    set_state(self, std::move(state));
    return py::none();
  });
}

PyObject* acquire(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                  PyObject* keywords) {
  return guarded([&]() -> py::object {
    const Using<SemaphoreState> state(self);
    const engine::Counter& semaphore = *state->semaphore;
    std::int64_t permits = 1;
    bool blocking = true;
    double seconds = -1;
    if (const Arguments given{arguments, count, keywords}; !given.empty()) {
      const py::tuple said = checked(self, "_checked_request", given);
      permits = said[0].cast<std::int64_t>();
      blocking = said[1].cast<bool>();
      seconds = said[2].cast<double>();
    }
    before_acquire(self);
    py::object granted =
        wait_for(OperationKind::kAcquire, semaphore.acquire(permits, blocking, wait_time(seconds)));
    if (blocking && granted.is(py::bool_(false))) self_of(self).attr("_check_number")();
    return granted;
  });
}

PyObject* release(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                  PyObject* keywords) {
  return guarded([&]() -> py::object {
    const Using<SemaphoreState> state(self);
    const engine::Counter& semaphore = *state->semaphore;
    std::int64_t permits = 1;
    if (const Arguments given{arguments, count, keywords}; !given.empty()) {
      permits = checked(self, "_checked_permits", given)[0].cast<std::int64_t>();
    }
    (void)wait_for(OperationKind::kCall, semaphore.call("release", permits));
    return py::none();
  });
}

PyObject* enter(PyObject* self, PyObject* /*unused*/) {
  return guarded([&]() -> py::object {
    const Using<SemaphoreState> state(self);
    before_acquire(self);
    const py::object granted =
        wait_for(OperationKind::kAcquire, state->semaphore->acquire(1, true, state->wait));
    if (granted.is(py::bool_(true))) return self_of(self);
    raise(self_of(self).attr("_timed_out")());
  });
}

PyObject* exit(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return leave(self, arguments, count, [self] {
    const Using<SemaphoreState> state(self);
    (void)wait_for(OperationKind::kCall, state->semaphore->call("release", 1));
  });
}

PyMethodDef g_methods[] = {
    {"_bind", bind, METH_VARARGS,
     "What the methods work on: the engine's semaphore, seconds to wait inside `with` (negative:\n"
     "without limit)."},
    {"acquire", as_method(acquire), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"release", as_method(release), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", as_method(exit), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

void register_blocking_semaphore(py::module_& module) {
  add_native_type(module, "holdfast._core.BlockingSemaphore",
                  "The methods of semaphores for threads.", g_methods);
}

const Registration g_registration(&register_blocking_semaphore);

}  // namespace
}  // namespace blocking_semaphore

}  // namespace holdfast::bindings
