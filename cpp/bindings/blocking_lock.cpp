// The methods of locks for threads that must not be interrupted between the grant and their return.
// Python code runs before the grant (arguments, watchers, refused calls), and after a release or a
// refusal, but never between the grant and the return to the interpreter: there a signal handler
// would leave a lock held that no variable refers to.

#include <memory>
#include <utility>

#include "bindings/native_object.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "engine/lock.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace blocking_lock {
namespace {

struct LockState final : NativeState {
  std::shared_ptr<engine::Lockable> lock;
  Lease lease;
  Duration wait{};
  bool prepares = false;  // Python's _prepare() and _released() have something to do
  bool defers = false;    // __exit__ does not wait for the answer
};

struct Acquisition {
  bool blocking;
  Duration timeout;
  Lease lease;
  bool block = false;
};

PyObject* bind(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> py::object {
    const auto said = py::reinterpret_borrow<py::tuple>(arguments);
    auto state = std::make_unique<LockState>();
    state->lock = said[0].cast<std::shared_ptr<engine::Lockable>>();
    state->lease = lease_of(said[1]);
    state->wait = wait_time(said[2].cast<double>());
    state->prepares = said[3].cast<bool>();
    state->defers = said[4].cast<bool>();
    set_state(self, std::move(state));
    return py::none();
  });
}

enum class ReleaseMode { kOne, kAll, kDeferred, kBlock, kDeferredBlock };

bool is_block(ReleaseMode how) {
  return how == ReleaseMode::kBlock || how == ReleaseMode::kDeferredBlock;
}

bool is_deferred(ReleaseMode how) {
  return how == ReleaseMode::kDeferred || how == ReleaseMode::kDeferredBlock;
}

bool wait_to_acquire(const engine::Lockable& lock,
                     const engine::Lockable::AcquireArguments& arguments) {
  return wait_for(OperationKind::kAcquire, lock.acquire(arguments)).is(py::bool_(true));
}

sync::ExchangePtr release_of(const engine::Lockable& lock, OwnerNumber owner, ReleaseMode how) {
  switch (how) {
    case ReleaseMode::kDeferred:
      return lock.release_deferred(owner);
    case ReleaseMode::kBlock:
    case ReleaseMode::kDeferredBlock:
      return lock.end_block(owner, is_deferred(how));
    default:
      return lock.release(owner, how == ReleaseMode::kAll);
  }
}

void wait_to_release(const engine::Lockable& lock, OwnerNumber owner, ReleaseMode how) {
  (void)wait_for(OperationKind::kRelease, release_of(lock, owner, how));
}

// By slots and small integers only: no bytecode runs here.
void count_hold(const py::object& watcher) {
  if (!watcher.is_none()) watcher.attr("holds") = watcher.attr("holds").cast<int>() + 1;
}

bool acquire(PyObject* self, const LockState& state, const Acquisition& request) {
  before_acquire(self);
  engine::Lockable::AcquireArguments arguments{calling_owner(), request.lease, request.blocking,
                                               request.timeout};
  arguments.block = request.block;
  if (!state.prepares) {
    return wait_to_acquire(*state.lock, arguments);
  }
  refuse_inside_acquire(*state.lock, arguments.owner);  // its watcher is in use
  const py::object watcher = self_of(self).attr("_prepare")();
  if (!watcher.is_none()) arguments.listener = watcher.attr("number").cast<std::uint64_t>();
  bool granted = false;
  try {
    granted = wait_to_acquire(*state.lock, arguments);
  } catch (...) {
    self_of(self).attr("_refused")(watcher);
    throw;
  }
  if (granted) {
    count_hold(watcher);
  } else {
    self_of(self).attr("_refused")(watcher);
  }
  return granted;
}

// Waits for a release; a NotOwnedError also names the actual owner.
void wait_for_release(PyObject* self, const LockState& state, OwnerNumber owner, ReleaseMode how) {
  try {
    wait_to_release(*state.lock, owner, how);
  } catch (py::error_already_set& error) {
    const auto errors = py::module_::import("holdfast._engine.errors");
    if (!error.type().is(errors.attr("NotOwnedError"))) throw;
    raise(self_of(self).attr("_not_owned")(is_block(how)));
  }
}

// After a release of `holds` holds. An interrupt in it leaves the watcher of what is over to a
// second call, which counts no hold: the caller may never use this lock object again.
void notify_released(PyObject* self, int holds, const py::object& error, bool deferred) {
  const py::object released = self_of(self).attr("_released");
  try {
    released(holds, error, deferred);
  } catch (py::error_already_set&) {
    released(0, error, deferred);
    throw;
  }
}

void release(PyObject* self, const LockState& state, ReleaseMode how) {
  const OwnerNumber owner = calling_owner();
  if (!state.prepares) return wait_for_release(self, state, owner, how);
  refuse_inside_acquire(*state.lock, owner);
  const int holds = how == ReleaseMode::kAll ? state.lock->known_count(owner) : 1;
  const bool deferred = is_deferred(how);
  try {
    wait_for_release(self, state, owner, how);
  } catch (py::error_already_set& error) {
    notify_released(self, holds, error.value(), deferred);
    throw;
  }
  notify_released(self, holds, py::none(), deferred);
}

// Reads the arguments of release(); Python raises the errors for invalid ones.
ReleaseMode release_of(PyObject* self, const Arguments& arguments) {
  if (arguments.empty()) return ReleaseMode::kOne;
  const py::tuple said = checked(self, "_checked_release", arguments);
  return said[0].cast<bool>() ? ReleaseMode::kOne : ReleaseMode::kDeferred;
}

// Reads the arguments of an acquire; Python checks them before a command is sent.
Acquisition request_of(PyObject* self, const LockState& state, const Arguments& arguments) {
  if (arguments.empty()) return {true, wait_time(-1), state.lease};
  const py::tuple request = checked(self, "_checked_request", arguments);
  return {request[0].cast<bool>(), wait_time(request[1].cast<double>()), lease_of(request[2])};
}

PyObject* acquire_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                         PyObject* keywords) {
  return guarded([&]() -> py::object {
    const Using<LockState> state(self);
    const Acquisition request = request_of(self, *state, {arguments, count, keywords});
    return py::bool_(acquire(self, *state, request));
  });
}

PyObject* release_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                         PyObject* keywords) {
  return guarded([&]() -> py::object {
    const Using<LockState> state(self);
    release(self, *state, release_of(self, {arguments, count, keywords}));
    return py::none();
  });
}

PyObject* enter(PyObject* self, PyObject* /*unused*/) {
  return guarded([&]() -> py::object {
    const Using<LockState> state(self);
    if (acquire(self, *state, {true, state->wait, state->lease, true})) return self_of(self);
    raise(self_of(self).attr("_timed_out")());
  });
}

PyObject* exit(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return leave(self, arguments, count, [self] {
    const Using<LockState> state(self);
    release(self, *state, state->defers ? ReleaseMode::kDeferredBlock : ReleaseMode::kBlock);
  });
}

PyObject* release_all(PyObject* self, PyObject* /*unused*/) {
  return guarded([&]() -> py::object {
    release(self, *Using<LockState>(self), ReleaseMode::kAll);
    return py::none();
  });
}

PyMethodDef g_methods[] = {
    {"_bind", bind, METH_VARARGS,
     "Set the objects of the methods: the engine's lock, the LeaseTime, seconds to wait inside "
     "`with`\n"
     "(negative: without limit), whether _prepare() and _released() are to be called, whether "
     "`with`\n"
     "does not wait for the answer to its release."},
    {"acquire", as_method(acquire_method), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"release", as_method(release_method), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", as_method(exit), METH_FASTCALL, nullptr},
    {"_release_all", release_all, METH_NOARGS, "Release all holds of the caller at once."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace
}  // namespace blocking_lock

void register_blocking_lock(py::module_& module) {
  add_native_type(module, "holdfast._core.BlockingLock", "The methods of locks for threads.",
                  blocking_lock::g_methods);
}

}  // namespace holdfast::bindings
