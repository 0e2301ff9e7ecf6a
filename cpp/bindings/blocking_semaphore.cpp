// The methods of semaphores for threads that must not be interrupted between the grant and their
// return: see blocking_lock.cpp.

#include <memory>
#include <utility>

#include "bindings/native_object.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "locks/engine/counter.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace blocking_semaphore {
namespace {

struct SemaphoreState final : NativeState {
  explicit SemaphoreState(const Arguments& args)
      : semaphore(args[0].cast<std::shared_ptr<engine::Counter>>()),
        wait(args[1].cast<Duration>()) {}

  const std::shared_ptr<engine::Counter> semaphore;
  const Duration wait;
};

py::object acquire(PyObject* self, const Arguments& given) {
  const Using<SemaphoreState> state(self);
  std::int64_t permits = 1;
  bool blocking = true;
  Duration wait = wait_time(-1);
  if (!given.empty()) {
    const py::tuple args = call_python(self, "_checked_request", given);
    permits = args[0].cast<std::int64_t>();
    blocking = args[1].cast<bool>();
    wait = args[2].cast<Duration>();
  }
  before_acquire(self);
  py::object granted = wait_for(state->semaphore->acquire(permits, blocking, wait));
  if (blocking && granted.is(py::bool_(false))) self_of(self).attr("_check_number")();
  return granted;
}

void give_back(PyObject* self, std::int64_t permits) {
  (void)wait_for(Using<SemaphoreState>(self)->semaphore->call("release", permits));
}

py::object release(PyObject* self, const Arguments& given) {
  std::int64_t permits = 1;
  if (!given.empty()) {
    const py::tuple args = call_python(self, "_checked_permits", given);
    permits = args[0].cast<std::int64_t>();
  }
  give_back(self, permits);
  return py::none();
}

py::object enter(PyObject* self) {
  const Using<SemaphoreState> state(self);
  before_acquire(self);
  const py::object granted = wait_for(state->semaphore->acquire(1, true, state->wait));
  if (granted.is(py::bool_(true))) return self_of(self);
  raise(self_of(self).attr("_timed_out")());
}

py::object exit(PyObject* self, const Arguments& arguments) {
  return release_after(self, body_error(arguments), [self] { give_back(self, 1); });
}

PyMethodDef g_methods[] = {
    method<&bind<SemaphoreState>>("_bind"),
    method<&acquire>("acquire"),
    method<&release>("release"),
    method<&enter>("__enter__"),
    method<&exit>("__exit__"),
    {nullptr, nullptr, 0, nullptr},
};

const Registration g_registration([](py::module_& module) {
  add_native_type(module, "holdfast._core.BlockingSemaphore", g_methods);
});

}  // namespace
}  // namespace blocking_semaphore

}  // namespace holdfast::bindings
