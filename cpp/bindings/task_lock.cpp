// The methods of locks for tasks, for callers without a watcher: the awaitable that they return is
// the operation's Awaitable, so that no bytecode runs between the task and the engine. Watched
// holds go by the coroutines of python/holdfast/_locks/task_lock.py.

#include <memory>
#include <utility>

#include "bindings/awaitable.h"
#include "bindings/native_object.h"
#include "bindings/register.h"
#include "bindings/task_queue.h"
#include "bindings/waiting.h"
#include "engine/lock.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace task_lock {
namespace {

struct TaskLockState final : NativeState {
  std::shared_ptr<engine::Lockable> lock;
  Lease lease;
  Duration wait{};
  bool watched = false;  // its holds have watchers: Python's coroutines
  bool refuses = false;  // Python's _refuse_upgrade() may raise
  bool defers = false;   // `async with` does not wait for the answer to its release
};

PyObject* bind(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> py::object {
    const auto said = py::reinterpret_borrow<py::tuple>(arguments);
    auto state = std::make_unique<TaskLockState>();
    state->lock = said[0].cast<std::shared_ptr<engine::Lockable>>();
    state->lease = lease_of(said[1]);
    state->wait = wait_time(said[2].cast<double>());
    state->watched = said[3].cast<bool>();
    state->refuses = said[4].cast<bool>();
    state->defers = said[5].cast<bool>();
    set_state(self, std::move(state));
    return py::none();
  });
}

// ---- What an awaitable does, in the task that awaits it

void begin_acquire(Awaitable& awaitable) {
  PyObject* const self = awaitable.arguments.subject;
  const Using<TaskLockState> state(self);
  TaskQueue& queue = TaskQueue::of_running_loop();
  engine::Lockable::AcquireArguments arguments{queue.owner(), awaitable.arguments.lease,
                                               awaitable.arguments.blocking,
                                               awaitable.arguments.timeout};
  arguments.block = awaitable.arguments.block;
  if (state->refuses) self_of(self).attr("_refuse_upgrade")();
  events_needed();
  queue.begin(awaitable, OperationKind::kAcquire, state->lock->acquire(arguments));
}

sync::ExchangePtr release_of(const TaskLockState& state, OwnerNumber owner,
                             const Awaitable::Arguments& how) {
  if (how.block) return state.lock->end_block(owner, how.deferred);
  return how.deferred ? state.lock->release_deferred(owner) : state.lock->release(owner, false);
}

void begin_release(Awaitable& awaitable) {
  const Using<TaskLockState> state(awaitable.arguments.subject);
  TaskQueue& queue = TaskQueue::of_running_loop();
  const OwnerNumber owner = queue.known_owner();
  queue.begin(awaitable, OperationKind::kRelease, release_of(*state, owner, awaitable.arguments));
}

py::object acquired(Awaitable& awaitable) { return awaitable.value(); }

py::object entered(Awaitable& awaitable) {
  (void)awaitable.value();
  return self_of(awaitable.arguments.subject);
}

// The time of the block is over: LockTimeout says who holds the lock.
py::object late(Awaitable& awaitable) {
  if (awaitable.outcome->verdict == sync::Verdict::kGranted) return {};
  const std::string_view name = awaitable.operation->name().bytes();
  const PythonOutcome result = to_python(awaitable.kind, name, *awaitable.outcome);
  if (result.exception || !result.value.is(py::handle(Py_False))) return {};
  return self_of(awaitable.arguments.subject).attr("_raise_timed_out")();
}

// A NotOwnedError also names the actual owner.
py::object released(Awaitable& awaitable) {
  if (awaitable.outcome->verdict != sync::Verdict::kBusy) return awaitable.value();
  raise(self_of(awaitable.arguments.subject).attr("_not_owned")(awaitable.arguments.block));
}

py::object left(Awaitable& awaitable) {
  release_after(awaitable.arguments.subject, awaitable.arguments.body,
                [&awaitable] { (void)released(awaitable); });
  return py::none();
}

constexpr AwaitableKind kAcquire{"Lock.acquire", begin_acquire, acquired};
constexpr AwaitableKind kEnter{"Lock.__aenter__", begin_acquire, entered, late};
constexpr AwaitableKind kRelease{"Lock.release", begin_release, released};
constexpr AwaitableKind kLeave{"Lock.__aexit__", begin_release, left};

py::object awaitable_for(PyObject* self, const AwaitableKind& lazy,
                         const Awaitable::Arguments& arguments) {
  py::object made = new_awaitable(&lazy);
  Awaitable& awaitable = awaitable_of(made.ptr());
  awaitable.arguments = arguments;
  awaitable.arguments.subject = Py_NewRef(self);
  Py_XINCREF(awaitable.arguments.body);
  return made;
}

// ---- The methods

// The arguments of an acquire: none, or as _acquire_watched() has them.
Awaitable::Arguments arguments_of(const TaskLockState& state, PyObject* const* passed,
                                  Py_ssize_t count) {
  if (count == 0) return {nullptr, nullptr, state.lease, wait_time(-1), true, false, false};
  return {nullptr,
          nullptr,
          lease_of(passed[2]),
          wait_time(py::handle(passed[1]).cast<double>()),
          passed[0] == Py_True,
          false,
          false};
}

// The coroutine of Python that does it for a watched lock.
py::object coroutine(PyObject* self, const char* method, PyObject* const* arguments,
                     Py_ssize_t count) {
  const py::object made = self_of(self).attr(method);
  PyObject* const result =
      PyObject_Vectorcall(made.ptr(), arguments, static_cast<std::size_t>(count), nullptr);
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

PyObject* acquire(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&]() -> py::object {
    if (count != 0 && count != 3) {
      PyErr_Format(PyExc_TypeError, "_acquire() takes 0 or 3 arguments (%zd given)", count);
      throw py::error_already_set();
    }
    const Using<TaskLockState> state(self);
    if (state->watched) return coroutine(self, "_acquire_watched", arguments, count);
    return awaitable_for(self, kAcquire, arguments_of(*state, arguments, count));
  });
}

PyObject* enter(PyObject* self, PyObject* /*unused*/) {
  return guarded([&]() -> py::object {
    const Using<TaskLockState> state(self);
    if (state->watched) return coroutine(self, "_enter_watched", nullptr, 0);
    return awaitable_for(self, kEnter,
                         {nullptr, nullptr, state->lease, state->wait, /*blocking=*/true,
                          /*deferred=*/false, /*block=*/true});
  });
}

PyObject* release(PyObject* self, PyObject* deferred) {
  return guarded([&]() -> py::object {
    const Using<TaskLockState> state(self);
    if (state->watched) return coroutine(self, "_release_watched", &deferred, 1);
    Awaitable::Arguments arguments{};
    arguments.deferred = deferred == Py_True;
    return awaitable_for(self, kRelease, arguments);
  });
}

PyObject* exit(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&]() -> py::object {
    PyObject* const body = body_error(arguments, count);
    const Using<TaskLockState> state(self);
    if (state->watched) return coroutine(self, "_exit_watched", arguments, count);
    Awaitable::Arguments leaving{};
    leaving.body = body;
    leaving.deferred = state->defers;
    leaving.block = true;
    return awaitable_for(self, kLeave, leaving);
  });
}

PyMethodDef g_methods[] = {
    {"_bind", bind, METH_VARARGS,
     "Set the objects of the methods: the engine's lock, the LeaseTime, seconds to wait inside\n"
     "`async with` (negative: without limit), whether its holds are watched, whether\n"
     "_refuse_upgrade() is to be called, whether `async with` does not wait for the answer to its\n"
     "release."},
    {"_acquire", as_method(acquire), METH_FASTCALL,
     "An awaitable of whether the lock was acquired: with the arguments (blocking, timeout, "
     "lease);\n"
     "without them until it is granted, with the lock's lease."},
    {"_release", release, METH_O,
     "_release($self, deferred, /)\n--\n\n"
     "An awaitable that releases one hold."},
    {"__aenter__", enter, METH_NOARGS, nullptr},
    {"__aexit__", as_method(exit), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace
}  // namespace task_lock

void register_task_lock(py::module_& module) {
  add_native_type(module, "holdfast._core.TaskLock", "The methods of locks for tasks.",
                  task_lock::g_methods);
}

}  // namespace holdfast::bindings
