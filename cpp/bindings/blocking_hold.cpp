// The methods that end a hold object of the blocking client. No signal handler can interrupt them
// halfway, so Ctrl-C at the end of a `with` block does not leave the lock held while a traceback
// refers to the hold.

#include <memory>
#include <utility>

#include "bindings/native_object.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "engine/lock.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace blocking_hold {
namespace {

struct HoldState final : NativeState {
  std::shared_ptr<engine::Lockable> lock;
  OwnerNumber owner{0};
  Shared<bool> claimed{false};   // a call is ending the hold, or has ended it
  Shared<bool> detached{false};  // a ticket has been returned for it
};

PyObject* bind(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> py::object {
    const auto said = py::reinterpret_borrow<py::tuple>(arguments);
    auto state = std::make_unique<HoldState>();
    state->lock = said[0].cast<std::shared_ptr<engine::Lockable>>();
    state->owner = OwnerNumber{said[1].cast<std::uint64_t>()};
    set_state(self, std::move(state));
    return py::none();
  });
}

void claim(PyObject* self, HoldState& state) {
  if (exchange(state.claimed, true)) raise(self_of(self).attr("_ended_before")());
}

void release(PyObject* self, HoldState& state) {
  claim(self, state);
  try {
    (void)wait_for(OperationKind::kRelease, state.lock->release(state.owner, true));
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

PyObject* release_method(PyObject* self, PyObject* /*unused*/) {
  return guarded([&]() -> py::object {
    release(self, *Using<HoldState>(self));
    return py::none();
  });
}

PyObject* enter(PyObject* self, PyObject* /*unused*/) {
  return guarded([&]() -> py::object { return self_of(self); });
}

PyObject* exit(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return leave(self, arguments, count, [self] {
    const Using<HoldState> state(self);
    if (!state->detached) release(self, *state);
  });
}

PyObject* claim_method(PyObject* self, PyObject* /*unused*/) {
  return guarded([&]() -> py::object {
    claim(self, *Using<HoldState>(self));
    return py::none();
  });
}

PyObject* unclaim_method(PyObject* self, PyObject* /*unused*/) {
  return guarded([&]() -> py::object {
    Using<HoldState>(self)->claimed = false;
    return py::none();
  });
}

PyObject* mark_detached(PyObject* self, PyObject* /*unused*/) {
  return guarded([&]() -> py::object {
    Using<HoldState>(self)->detached = true;
    return py::none();
  });
}

PyMethodDef g_methods[] = {
    {"_bind", bind, METH_VARARGS, "What the methods work on: the engine's lock, the owner."},
    {"release", release_method, METH_NOARGS, nullptr},
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", as_method(exit), METH_FASTCALL, nullptr},
    {"_claim", claim_method, METH_NOARGS,
     "Begin to end the hold; only the first of several callers succeeds."},
    {"_unclaim", unclaim_method, METH_NOARGS,
     "Allow another attempt, after the hold could not be ended."},
    {"_mark_detached", mark_detached, METH_NOARGS,
     "Note that a ticket was returned: `with` does not release it."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace
}  // namespace blocking_hold

void register_blocking_hold(py::module_& module) {
  add_native_type(module, "holdfast._core.BlockingHold", "How hold objects for threads end.",
                  blocking_hold::g_methods);
}

}  // namespace holdfast::bindings
