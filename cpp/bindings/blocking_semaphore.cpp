// The methods of semaphores for threads that must not be interrupted between the grant and their
// return: see blocking_lock.cpp.

#include <cstdint>
#include <memory>
#include <utility>

#include "bindings/critical_section.h"
#include "bindings/native_object.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "locks/locks.h"
#include "redis/base/process.h"

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
  // Blocks that this process has entered and not left: a child of fork() must not release what its
  // parent has taken. With the lock of the object.
  std::uint64_t epoch = 0;
  std::uint64_t blocks = 0;
};

py::object acquire(PyObject* self, SemaphoreState& state, const Arguments& given) {
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
  py::object granted = wait_for(state.semaphore->acquire(permits, blocking, wait));
  if (blocking && granted.is(py::bool_(false))) self_of(self).attr("_check_number")();
  return granted;
}

void release(PyObject* self, SemaphoreState& state, const Arguments& given) {
  std::int64_t permits = 1;
  if (!given.empty()) {
    const py::tuple args = call_python(self, "_checked_permits", given);
    permits = args[0].cast<std::int64_t>();
  }
  (void)wait_for(state.semaphore->call("release", permits));
}

py::object enter(PyObject* self, SemaphoreState& state) {
  before_acquire(self);
  const py::object granted = wait_for(state.semaphore->acquire(1, true, state.wait));
  if (!granted.is(py::bool_(true))) raise(self_of(self).attr("_timed_out")());
  const ObjectLock lock(self);
  if (std::exchange(state.epoch, fork_epoch()) != fork_epoch()) state.blocks = 0;
  ++state.blocks;
  return self_of(self);
}

void leave(PyObject* self, SemaphoreState& state) {
  bool entered = false;
  {
    const ObjectLock lock(self);
    entered = state.epoch == fork_epoch() && state.blocks > 0;
    if (entered) --state.blocks;
  }
  if (!entered) raise(self_of(self).attr("_not_entered")());
  release(self, state, {nullptr, 0, nullptr});
}

using Type = NativeType<SemaphoreState>;
PyMethodDef g_methods[] = {
    Type::bind(),
    Type::method<&acquire>("acquire"),
    Type::method<&release>("release"),
    Type::method<&enter>("__enter__"),
    Type::exit<&leave>(),
    {nullptr, nullptr, 0, nullptr},
};

const Registration g_registration([](py::module_& module) {
  add_native_type(module, "holdfast._core.BlockingSemaphore", g_methods);
});

}  // namespace
}  // namespace blocking_semaphore

}  // namespace holdfast::bindings
