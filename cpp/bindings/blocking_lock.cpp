// The methods of locks and holds for threads that must not be interrupted between the grant and
// their return. Python code runs before the grant (arguments, watchers, refused calls), and after a
// release or a refusal, but never between the grant and the return to the interpreter: there a
// signal handler would leave a lock held that no variable refers to.

#include <memory>
#include <utility>

#include "bindings/native_object.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "locks/locks.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace blocking_lock {
namespace {

using AcquireArguments = engine::Lockable::AcquireArguments;

struct LockState final : NativeState {
  explicit LockState(const Arguments& args)
      : lock(args[0].cast<std::shared_ptr<engine::Lockable>>()),
        lease(lease_of(args[1])),
        wait(args[2].cast<Duration>()),
        prepares(args[3].cast<bool>()),
        defers(args[4].cast<bool>()) {}

  const std::shared_ptr<engine::Lockable> lock;
  const Lease lease;
  const Duration wait;
  const bool prepares;  // Python's _prepare() and _released() have something to do
  const bool defers;    // __exit__ does not wait for the answer
};

using ReleaseMode = engine::Lockable::ReleaseMode;

// The owner is the caller.
bool acquire(PyObject* self, const LockState& state, AcquireArguments& arguments) {
  before_acquire(self);
  arguments.owner = calling_owner();
  const auto granted_now = [&] {
    return wait_as_owner(state.lock->acquire(arguments)).is(py::bool_(true));
  };
  if (!state.prepares) return granted_now();
  refuse_inside_acquire(*state.lock, arguments.owner);  // its watcher is in use
  const py::object watcher = self_of(self).attr("_prepare")();
  if (!watcher.is_none()) arguments.listener = watcher.attr("number").cast<std::uint64_t>();
  bool granted = false;
  try {
    granted = granted_now();
  } catch (...) {
    self_of(self).attr("_refused")(watcher);
    throw;
  }
  if (!granted) {
    self_of(self).attr("_refused")(watcher);
  } else if (!watcher.is_none()) {  // by slots and small integers only: no bytecode runs here
    watcher.attr("holds") = watcher.attr("holds").cast<int>() + 1;
  }
  return granted;
}

// Waits for a release; a NotOwnedError also names the actual owner.
void wait_for_release(PyObject* self, const LockState& state, OwnerNumber owner, ReleaseMode how) {
  try {
    (void)wait_as_owner(state.lock->release(owner, how));
  } catch (py::error_already_set& error) {
    const auto errors = py::module_::import("holdfast._engine.errors");
    if (!error.type().is(errors.attr("NotOwnedError"))) throw;
    raise(self_of(self).attr("_not_owned")(how.block));
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
  const int holds = how.all ? state.lock->known_count(owner) : 1;
  try {
    wait_for_release(self, state, owner, how);
  } catch (py::error_already_set& error) {
    notify_released(self, holds, error.value(), how.deferred);
    throw;
  }
  notify_released(self, holds, py::none(), how.deferred);
}

// Python checks arguments, before a command is sent.
py::object acquire_method(PyObject* self, LockState& state, const Arguments& given) {
  AcquireArguments arguments{{}, state.lease};
  if (!given.empty()) {
    const py::tuple request = call_python(self, "_checked_request", given);
    arguments.blocking = request[0].cast<bool>();
    arguments.timeout = wait_time(request[1].cast<double>());
    arguments.lease = lease_of(request[2]);
    arguments.purpose = purpose_of(request[3].cast<std::optional<std::string>>());
  }
  return py::bool_(acquire(self, state, arguments));
}

void release_method(PyObject* self, LockState& state, const Arguments& given) {
  const bool awaited =
      given.empty() || py::tuple(call_python(self, "_checked_release", given))[0].cast<bool>();
  release(self, state, {/*all=*/false, /*deferred=*/!awaited});
}

py::object enter(PyObject* self, LockState& state) {
  AcquireArguments arguments{{}, state.lease, true, state.wait};
  arguments.block = true;
  if (acquire(self, state, arguments)) return self_of(self);
  raise(self_of(self).attr("_timed_out")());
}

void leave(PyObject* self, LockState& state) {
  release(self, state, {/*all=*/false, state.defers, /*block=*/true});
}

void release_all(PyObject* self, LockState& state) { release(self, state, {/*all=*/true}); }

using Type = NativeType<LockState>;
PyMethodDef g_methods[] = {
    Type::bind(),
    Type::method<&acquire_method>("acquire"),
    Type::method<&release_method>("release"),
    Type::method<&enter>("__enter__"),
    Type::exit<&leave>(),
    Type::method<&release_all>("_release_all"),
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef g_attributes[] = {Type::core(), {}};

const Registration g_registration([](py::module_& module) {
  add_native_type(module, "holdfast._core.BlockingLock", g_methods, g_attributes);
});

}  // namespace
}  // namespace blocking_lock

// The methods that end a hold object. No signal handler can interrupt them halfway, so Ctrl-C at
// the end of a `with` block does not leave the lock held while a traceback refers to the hold.
namespace blocking_hold {
namespace {

struct HoldState final : NativeState {
  explicit HoldState(const Arguments& args)
      : lock(args[0].cast<std::shared_ptr<engine::Lockable>>()),
        owner(args[1].cast<OwnerNumber>()) {}

  const std::shared_ptr<engine::Lockable> lock;
  const OwnerNumber owner;
  Shared<bool> claimed{false};   // a call is ending the hold, or has ended it
  Shared<bool> detached{false};  // a ticket has been returned for it
};

// Only the first of several callers ends the hold.
void claim(PyObject* self, HoldState& state) {
  if (exchange(state.claimed, true)) raise(self_of(self).attr("_ended_before")());
}

void release(PyObject* self, HoldState& state) {
  claim(self, state);
  try {
    (void)wait_for(state.lock->release(state.owner, {/*all=*/true}));
  } catch (py::error_already_set& error) {
    const auto over = py::module_::import("holdfast._engine.errors").attr("NotOwnedError");
    state.claimed = error.matches(over);
    throw;
  } catch (...) {
    state.claimed = false;
    throw;
  }
  self_of(self).attr("_unwatch")();
}

py::object enter(PyObject* self, HoldState& /*state*/) { return self_of(self); }

void leave(PyObject* self, HoldState& state) {
  if (!state.detached) release(self, state);
}

// Allows another attempt, after the hold could not be ended.
void unclaim(PyObject* /*self*/, HoldState& state) { state.claimed = false; }

void mark_detached(PyObject* /*self*/, HoldState& state) { state.detached = true; }

using Type = NativeType<HoldState>;
PyMethodDef g_methods[] = {
    Type::bind(),
    Type::method<&release>("release"),
    Type::method<&enter>("__enter__"),
    Type::exit<&leave>(),
    Type::method<&claim>("_claim"),
    Type::method<&unclaim>("_unclaim"),
    Type::method<&mark_detached>("_mark_detached"),
    {nullptr, nullptr, 0, nullptr},
};

const Registration g_registration([](py::module_& module) {
  add_native_type(module, "holdfast._core.BlockingHold", g_methods);
});

}  // namespace
}  // namespace blocking_hold

}  // namespace holdfast::bindings
