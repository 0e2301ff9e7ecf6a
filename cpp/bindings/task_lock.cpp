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
#include "locks/locks.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace task_lock {
namespace {

struct TaskLockState final : NativeState {
  explicit TaskLockState(const Arguments& args)
      : lock(args[0].cast<std::shared_ptr<engine::Lockable>>()),
        lease(lease_of(args[1])),
        wait(args[2].cast<Duration>()),
        watched(args[3].cast<bool>()),
        refuses(args[4].cast<bool>()),
        defers(args[5].cast<bool>()) {}

  const std::shared_ptr<engine::Lockable> lock;
  const Lease lease;
  const Duration wait;
  const bool watched;  // its holds have watchers: Python's coroutines
  const bool refuses;  // Python's _refuse_upgrade() may raise
  const bool defers;   // `async with` does not wait for the answer to its release
};

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
  queue.begin(awaitable, state->lock->acquire(arguments));
}

void begin_release(Awaitable& awaitable) {
  const Using<TaskLockState> state(awaitable.arguments.subject);
  TaskQueue& queue = TaskQueue::of_running_loop();
  const OwnerNumber owner = queue.known_owner();
  const auto& how = awaitable.arguments;
  queue.begin(awaitable, state->lock->release(owner, {/*all=*/false, how.deferred, how.block}));
}

py::object acquired(Awaitable& awaitable) { return awaitable.value(); }

py::object entered(Awaitable& awaitable) {
  if (!awaitable.granted()) (void)awaitable.value();
  return self_of(awaitable.arguments.subject);
}

// The time of the block is over: LockTimeout says who holds the lock.
py::object late(Awaitable& awaitable) {
  const PythonOutcome result = to_python(*awaitable.operation, *awaitable.outcome);
  if (result.exception || !result.value.is(py::handle(Py_False))) return {};
  return self_of(awaitable.arguments.subject).attr("_raise_timed_out")();
}

// A NotOwnedError also names the actual owner.
py::object released(Awaitable& awaitable) {
  if (awaitable.outcome->verdict != sync::Verdict::kBusy) return awaitable.value();
  raise(self_of(awaitable.arguments.subject).attr("_not_owned")(awaitable.arguments.block));
}

py::object left(Awaitable& awaitable) {
  return release_after(awaitable.arguments.subject, awaitable.arguments.body, [&awaitable] {
    if (!awaitable.granted()) (void)released(awaitable);
  });
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

// Without arguments until it is granted, with the lock's lease; else as _acquire_watched().
py::object acquire(PyObject* self, TaskLockState& state, const Arguments& args) {
  if (state.watched) return call_python(self, "_acquire_watched", args);
  Awaitable::Arguments arguments{nullptr, nullptr, state.lease, wait_time(-1), true, false, false};
  if (!args.empty()) {
    arguments.blocking = args[0].cast<bool>();
    arguments.timeout = args[1].cast<Duration>();
    arguments.lease = lease_of(args[2]);
  }
  return awaitable_for(self, kAcquire, arguments);
}

py::object enter(PyObject* self, TaskLockState& state) {
  if (state.watched) return call_python(self, "_enter_watched", {nullptr, 0, nullptr});
  return awaitable_for(self, kEnter,
                       {nullptr, nullptr, state.lease, state.wait,
                        /*blocking=*/true,
                        /*deferred=*/false, /*block=*/true});
}

py::object release(PyObject* self, TaskLockState& state, const Arguments& args) {
  if (state.watched) return call_python(self, "_release_watched", args);
  Awaitable::Arguments arguments{};
  arguments.deferred = args[0].cast<bool>();
  return awaitable_for(self, kRelease, arguments);
}

py::object exit(PyObject* self, TaskLockState& state, const Arguments& args) {
  Awaitable::Arguments leaving{};
  leaving.body = body_error(args);
  if (state.watched) return call_python(self, "_exit_watched", args);
  leaving.deferred = state.defers;
  leaving.block = true;
  return awaitable_for(self, kLeave, leaving);
}

using Type = NativeType<TaskLockState>;
PyMethodDef g_methods[] = {
    Type::bind(),
    Type::method<&acquire>("_acquire"),
    Type::method<&release>("_release"),
    Type::method<&enter>("__aenter__"),
    Type::method<&exit>("__aexit__"),
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef g_attributes[] = {Type::core(), {}};

const Registration g_registration([](py::module_& module) {
  add_native_type(module, "holdfast._core.TaskLock", g_methods, g_attributes);
});

}  // namespace
}  // namespace task_lock

}  // namespace holdfast::bindings
