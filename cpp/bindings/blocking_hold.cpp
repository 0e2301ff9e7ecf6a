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
    (void)wait_for(state.lock->release(state.owner, true));
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

py::object release_method(PyObject* self) {
  release(self, *Using<HoldState>(self));
  return py::none();
}

py::object exit(PyObject* self, const Arguments& arguments) {
  return release_after(self, body_error(arguments), [self] {
    const Using<HoldState> state(self);
    if (!state->detached) release(self, *state);
  });
}

py::object claim_method(PyObject* self) {
  claim(self, *Using<HoldState>(self));
  return py::none();
}

// Allows another attempt, after the hold could not be ended.
py::object unclaim(PyObject* self) {
  Using<HoldState>(self)->claimed = false;
  return py::none();
}

py::object mark_detached(PyObject* self) {
  Using<HoldState>(self)->detached = true;
  return py::none();
}

PyMethodDef g_methods[] = {
    method<&bind<HoldState>>("_bind"),
    method<&release_method>("release"),
    method<&self_of>("__enter__"),
    method<&exit>("__exit__"),
    method<&claim_method>("_claim"),
    method<&unclaim>("_unclaim"),
    method<&mark_detached>("_mark_detached"),
    {nullptr, nullptr, 0, nullptr},
};

const Registration g_registration([](py::module_& module) {
  add_native_type(module, "holdfast._core.BlockingHold", g_methods);
});

}  // namespace
}  // namespace blocking_hold

}  // namespace holdfast::bindings
