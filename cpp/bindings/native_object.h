#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "bindings/critical_section.h"
#include "bindings/errors.h"
#include "bindings/waiting.h"

namespace holdfast::bindings {

// The state of a native object. Used with the GIL held; in a Python without one, by any number of
// threads at once.
struct NativeState {
  NativeState() = default;
  virtual ~NativeState() = default;
  NativeState(const NativeState&) = delete;
  NativeState& operator=(const NativeState&) = delete;

  Shared<int> users{0};  // calls that are under way: see Using
};

// The layout of all native types: `holdfast._core.Native` is the common base, so that a Python
// class may derive from it and from one native type below it. The state is set by the type's
// `_bind`, called by the __init__ of the Python class.
struct NativeObject {
  PyObject ob_base;
  NativeState* state;
};

// The type `Native`, a new reference each time; made by the first call.
pybind11::object native_root();

// Adds a type below `Native` to the module. `methods` (static storage) are C functions, found by
// `with` and by calls without a step of bytecode: no signal handler runs between their effect and
// their return. In CPython 3.14 and newer one may run right after the return of `__enter__`:
// holdfast/_locks/base.py takes care of that. It also gives those methods their texts that the
// public classes declare. `attributes` (static storage too; null: none) are read by C functions.
void add_native_type(pybind11::module_& module, const char* qualified_name, PyMethodDef* methods,
                     PyGetSetDef* attributes = nullptr);

// A native method with another text, its signature and its docstring. For the import of the
// package alone: what it makes lasts as long as the process.
pybind11::object described(const pybind11::handle& method, const std::string& text);

[[noreturn]] void raise_unbound(PyObject* self);

// The state of `self` for a call, as set by the `_bind` of the type whose method runs: until the
// call's end, set_state() raises. Raises RuntimeError if a subclass has not called the constructor
// of its base class.
template <typename State>
class Using {
 public:
  explicit Using(PyObject* self) : state_(begin(self)) {}
  ~Using() { --state_.users; }
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;

  State& operator*() const { return state_; }
  State* operator->() const { return &state_; }

 private:
  static State& begin(PyObject* self) {
    const ObjectLock lock(self);  // so that set_state() does not come in between
    auto* const state = reinterpret_cast<NativeObject*>(self)->state;
    if (state == nullptr) raise_unbound(self);
    ++state->users;
    return *static_cast<State*>(state);
  }

  State& state_;
};

// Raises RuntimeError where a call uses the present state.
inline void set_state(PyObject* self, std::unique_ptr<NativeState> state) {
  bool used = false;
  {
    const ObjectLock lock(self);
    NativeState*& present = reinterpret_cast<NativeObject*>(self)->state;
    used = present != nullptr && present->users > 0;
    // The state before is destroyed without the lock.
    if (!used) state.reset(std::exchange(present, state.release()));
  }
  if (!used) return;
  PyErr_Format(PyExc_RuntimeError, "%.100s.__init__() was called again during another call",
               Py_TYPE(self)->tp_name);
  throw pybind11::error_already_set();
}

inline pybind11::object self_of(PyObject* self) {
  return pybind11::reinterpret_borrow<pybind11::object>(self);
}

// Called before each acquire of a thread: starts the thread of events, and warns a caller that
// would block an event loop.
inline void before_acquire(PyObject* self) {
  events_needed();
  if (runs_event_loop()) self_of(self).attr("_client").attr("_warn_of_loop")();
}

// The arguments of a vectorcall.
struct Arguments {
  PyObject* const* values;
  Py_ssize_t count;
  PyObject* keywords;  // null: none

  bool empty() const { return count == 0 && keywords == nullptr; }
  pybind11::handle operator[](Py_ssize_t place) const {
    if (place < count) return values[place];
    PyErr_Format(PyExc_TypeError, "argument %zd is missing (%zd given)", place + 1, count);
    throw pybind11::error_already_set();
  }
};

// Calls `body`, which returns a new reference as py::object, and turns its exceptions into Python
// errors.
template <typename Body>
PyObject* guarded(const Body& body) {
  try {
    return body().release().ptr();
  } catch (const std::exception&) {
    set_error(std::current_exception());
  }
  return nullptr;
}

// For PyMethodDef, which has one function type for all signatures.
template <typename Function>
PyCFunction as_method(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

// The result of the Python method `name` of `self` for the arguments of a call; raises its errors.
inline pybind11::object call_python(PyObject* self, const char* name, const Arguments& arguments) {
  const pybind11::object method = self_of(self).attr(name);
  PyObject* const result =
      PyObject_Vectorcall(method.ptr(), arguments.values, static_cast<std::size_t>(arguments.count),
                          arguments.keywords);
  if (result == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(result);
}

// The error of the body that an __exit__ is called with; null: it ended without one.
inline PyObject* body_error(const Arguments& arguments) {
  constexpr Py_ssize_t kTypeValueTraceback = 3;
  if (arguments.count != kTypeValueTraceback || arguments.keywords != nullptr) {
    PyErr_Format(PyExc_TypeError, "__exit__() takes exactly 3 arguments, without names (%zd given)",
                 arguments.count);
    throw pybind11::error_already_set();
  }
  return arguments[1].is_none() ? nullptr : arguments[1].ptr();
}

// At the end of a block: runs `release`. If the body has failed, too, an error of the release is
// passed to `self._note(body, error)`. `body`: its error; null: it ended without one.
template <typename Release>
pybind11::object release_after(PyObject* self, PyObject* body, const Release& release) {
  try {
    release();
  } catch (pybind11::error_already_set& error) {
    const auto ours = pybind11::module_::import("holdfast._engine.errors").attr("HoldfastError");
    if (body == nullptr || !error.matches(ours)) throw;
    self_of(self).attr("_note")(self_of(body), error.value());
  }
  return pybind11::none();
}

// The entries of a native type's tables. Methods are functions of the object, of its state and,
// where they have them, of the arguments; they may throw, and one that returns nothing returns
// None.
template <typename State>
struct NativeType {
  using Function = pybind11::object (*)(PyObject* self, State& state);
  using Action = void (*)(PyObject* self, State& state);
  using WithArguments = pybind11::object (*)(PyObject* self, State& state,
                                             const Arguments& arguments);
  using ActionWithArguments = void (*)(PyObject* self, State& state, const Arguments& arguments);

  // `_bind`: sets the state, which is made of the arguments.
  static PyMethodDef bind() { return reading<&make>("_bind"); }

  template <Function function>
  static PyMethodDef method(const char* name) {
    return {name,
            [](PyObject* self, PyObject* /*unused*/) {
              return guarded([self] { return function(self, *Using<State>(self)); });
            },
            METH_NOARGS, nullptr};
  }
  template <Action action>
  static PyMethodDef method(const char* name) {
    return method<&nothing<action>>(name);
  }
  template <WithArguments function>
  static PyMethodDef method(const char* name) {
    return reading<&called<function>>(name);
  }
  template <ActionWithArguments action>
  static PyMethodDef method(const char* name) {
    return method<&nothing_with<action>>(name);
  }
  // `__exit__`: what ends a block.
  template <Action leave>
  static PyMethodDef exit() {
    return reading<&left<leave>>("__exit__");
  }
  // `_core`: the engine's lock. An object of Python for it takes more memory than the engine's, so
  // that it is made only when it is asked for.
  static PyGetSetDef core() {
    return {"_core",
            [](PyObject* self, void* /*unused*/) {
              return guarded([self] { return pybind11::cast(Using<State>(self)->lock); });
            },
            nullptr, nullptr, nullptr};
  }

 private:
  using Reader = pybind11::object (*)(PyObject* self, const Arguments& arguments);

  template <Reader function>
  static PyMethodDef reading(const char* name) {
    const auto call =
        +[](PyObject* self, PyObject* const* values, Py_ssize_t count, PyObject* keywords) {
          return guarded([&] { return function(self, {values, count, keywords}); });
        };
    return {name, as_method(call), METH_FASTCALL | METH_KEYWORDS, nullptr};
  }
  static pybind11::object make(PyObject* self, const Arguments& arguments) {
    set_state(self, std::make_unique<State>(arguments));
    return pybind11::none();
  }
  template <WithArguments function>
  static pybind11::object called(PyObject* self, const Arguments& arguments) {
    return function(self, *Using<State>(self), arguments);
  }
  template <Action leave>
  static pybind11::object left(PyObject* self, const Arguments& arguments) {
    return release_after(self, body_error(arguments), [self] { leave(self, *Using<State>(self)); });
  }
  template <Action action>
  static pybind11::object nothing(PyObject* self, State& state) {
    action(self, state);
    return pybind11::none();
  }
  template <ActionWithArguments action>
  static pybind11::object nothing_with(PyObject* self, State& state, const Arguments& arguments) {
    action(self, state, arguments);
    return pybind11::none();
  }
};

}  // namespace holdfast::bindings
