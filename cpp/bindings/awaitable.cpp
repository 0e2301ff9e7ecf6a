#include "bindings/awaitable.h"

#include <array>
#include <string>
#include <utility>

#include "bindings/critical_section.h"
#include "bindings/errors.h"
#include "bindings/native_object.h"
#include "bindings/task_queue.h"
#include "redis/base/status.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

[[noreturn]] void raise_python(PyObject* type, const char* text) {
  PyErr_SetString(type, text);
  throw py::error_already_set();
}

// The caller no longer waits: a grant that has arrived, or still arrives, is given back.
void give_up(Awaitable& awaitable) {
  awaitable.leave_queue();
  if (std::exchange(awaitable.over, true) || !awaitable.operation) return;
  if (awaitable.operation->inherited()) return;
  awaitable.operation->cancel();
  const bool done =
      awaitable.outcome && awaitable.operation->role() != sync::Exchange::Role::kAcquire;
  if (done) return awaitable.observation.ended(*awaitable.operation, *awaitable.outcome);
  awaitable.observation.cancelled(*awaitable.operation);
}

// The result or error of the operation. An interrupt of the observer gives a grant back.
py::object take(Awaitable& awaitable) {
  if (std::exchange(awaitable.over, true)) {
    // An operation that its caller cancelled before it began has no name.
    const bool begun = awaitable.operation != nullptr;
    const std::string of = begun ? " for " + quoted(awaitable.operation->name().bytes()) : "";
    const std::string text =
        "the result" + of + " was awaited already; call the method again for another one";
    raise_python(PyExc_RuntimeError, text.c_str());
  }
  try {
    awaitable.observation.ended(*awaitable.operation, *awaitable.outcome);
  } catch (...) {
    awaitable.operation->cancel();
    throw;
  }
  return awaitable.lazy != nullptr ? awaitable.lazy->end(awaitable) : awaitable.value();
}

// False, with the error set: it did not begin.
bool begin(Awaitable& awaitable) {
  awaitable.fresh = false;
  try {
    awaitable.lazy->begin(awaitable);
    return true;
  } catch (const std::exception&) {
    set_error(std::current_exception());
  }
  awaitable.over = true;
  return false;
}

// Before a loss is taken: one step of what finds out who has released the lock by force.
// PYGEN_NEXT: it is not over; PYGEN_RETURN, without a result: it is.
PySendResult look_on(Awaitable& awaitable, PyObject* value, PyObject** result) {
  if (awaitable.looks == nullptr && !awaitable.over && !awaitable.explained) {
    awaitable.explained = true;
    PyObject* const made = guarded([&awaitable] {
      const AwaitableKind* const lazy = awaitable.lazy;
      const bool may_fail = lazy != nullptr && lazy->fail != nullptr;
      py::object failing = may_fail ? lazy->fail(awaitable) : py::object();
      if (!failing) return explanation(*awaitable.operation, *awaitable.outcome);
      awaitable.over = true;
      awaitable.observation.ended(*awaitable.operation, *awaitable.outcome);
      return failing;
    });
    if (made == nullptr && PyErr_Occurred() != nullptr) return PYGEN_ERROR;
    awaitable.looks = made;
  }
  if (awaitable.looks == nullptr) return PYGEN_RETURN;
  const PySendResult kind = PyIter_Send(awaitable.looks, value, result);
  if (kind == PYGEN_NEXT) return kind;
  Py_CLEAR(awaitable.looks);
  if (kind == PYGEN_ERROR) return kind;
  const auto reason = py::reinterpret_steal<py::object>(std::exchange(*result, nullptr));
  set_reason(*awaitable.outcome, reason.cast<std::string>());
  return kind;
}

PySendResult send(PyObject* self, PyObject* value, PyObject** result) {
  Awaitable& awaitable = awaitable_of(self);
  *result = nullptr;
  if (awaitable.fresh && !awaitable.over && !begin(awaitable)) {
    return PYGEN_ERROR;
  }
  if (!awaitable.outcome && !awaitable.over) {
    // An error of add_done_callback() would leave the task without a next step.
    if (awaitable.callback != nullptr) {
      PyErr_SetString(PyExc_RuntimeError, "the result is awaited already, by another task");
      return PYGEN_ERROR;
    }
    awaitable.blocking = true;
    *result = Py_NewRef(self);
    return PYGEN_NEXT;
  }
  const PySendResult looked =
      awaitable.granted() ? PYGEN_RETURN : look_on(awaitable, value, result);
  if (looked != PYGEN_RETURN) return looked;
  *result = guarded([&awaitable] { return take(awaitable); });
  return *result != nullptr ? PYGEN_RETURN : PYGEN_ERROR;
}

PyObject* next(PyObject* self) {
  PyObject* result = nullptr;
  const PySendResult kind = send(self, Py_None, &result);
  if (kind != PYGEN_RETURN) return result;
  const auto value = py::reinterpret_steal<py::object>(result);
  PyErr_SetObject(PyExc_StopIteration, value.ptr());
  return nullptr;
}

PyObject* throw_in(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&]() -> py::object {
    const auto given = [&](Py_ssize_t i) {
      return i < count && arguments[i] != Py_None ? arguments[i] : nullptr;
    };
    PyObject* const first = given(0);
    if (first == nullptr) raise_python(PyExc_TypeError, "throw() takes an exception");
    Py_CLEAR(awaitable_of(self).looks);
    give_up(awaitable_of(self));
    if (PyExceptionInstance_Check(first)) {
      PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(first))), Py_NewRef(first),
                    PyException_GetTraceback(first));
    } else {
      PyErr_Restore(Py_NewRef(first), Py_XNewRef(given(1)), Py_XNewRef(given(2)));
    }
    throw py::error_already_set();
  });
}

PyObject* close(PyObject* self, PyObject* /*unused*/) {
  return guarded([&]() -> py::object {
    Py_CLEAR(awaitable_of(self).looks);
    give_up(awaitable_of(self));
    return py::none();
  });
}

// `keywords`: at most msg=.
PyObject* cancel(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> py::object {
    Awaitable& awaitable = awaitable_of(self);
    if (awaitable.done() || awaitable.queue == nullptr) return py::bool_(false);
    const Py_ssize_t given = count + (keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords));
    if (given > 0) Py_XSETREF(awaitable.message, Py_NewRef(arguments[0]));
    awaitable.cancelled = true;
    awaitable.call_soon();  // the task goes on even if an observer raises
    give_up(awaitable);
    return py::bool_(true);
  });
}

PyObject* add_done_callback(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                            PyObject* keywords) {
  return guarded([&]() -> py::object {
    Awaitable& awaitable = awaitable_of(self);
    if (count != 1 || awaitable.callback != nullptr) {
      raise_python(PyExc_RuntimeError, "a result can be awaited by one task only");
    }
    const bool has_context = keywords != nullptr && PyTuple_GET_SIZE(keywords) == 1;
    awaitable.context = has_context ? Py_NewRef(arguments[1]) : PyContext_CopyCurrent();
    if (awaitable.context == nullptr) throw py::error_already_set();
    awaitable.callback = Py_NewRef(arguments[0]);
    if (awaitable.done()) awaitable.call_soon();
    return py::none();
  });
}

// Called by the task only, which then gets the result, or the error of a cancellation.
PyObject* result(PyObject* self, PyObject* /*unused*/) {
  return guarded([&]() -> py::object {
    const Awaitable& awaitable = awaitable_of(self);
    if (!awaitable.cancelled) return py::none();
    const py::object type = py::module_::import("asyncio").attr("CancelledError");
    const bool speaks = awaitable.message != nullptr && awaitable.message != Py_None;
    raise(speaks ? type(py::handle(awaitable.message)) : type());
  });
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  const Awaitable& awaitable = awaitable_of(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(awaitable.loop);
  Py_VISIT(awaitable.callback);
  Py_VISIT(awaitable.context);
  Py_VISIT(awaitable.message);
  Py_VISIT(awaitable.looks);
  Py_VISIT(awaitable.arguments.subject);
  Py_VISIT(awaitable.arguments.body);
  return awaitable.observation.traverse(visit, arg);
}

// The task that would take its result is gone.
void end(PyObject* self) {
  const Awaitable& awaitable = awaitable_of(self);
  if (awaitable.over) return;
  const py::error_scope keeps;  // preserves a current error
  if (awaitable.fresh) {        // as the interpreter warns of a coroutine
    const char* const title = awaitable.lazy->title;
    if (PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "coroutine '%s' was never awaited", title) < 0) {
      PyErr_WriteUnraisable(nullptr);
    }
  }
  PyObject* const done = close(self, nullptr);
  if (done == nullptr) PyErr_WriteUnraisable(nullptr);
  Py_XDECREF(done);
}

int clear(PyObject* self) {
  end(self);
  Awaitable& awaitable = awaitable_of(self);
  Py_CLEAR(awaitable.loop);
  Py_CLEAR(awaitable.callback);
  Py_CLEAR(awaitable.context);
  Py_CLEAR(awaitable.message);
  Py_CLEAR(awaitable.looks);
  Py_CLEAR(awaitable.arguments.subject);
  Py_CLEAR(awaitable.arguments.body);
  awaitable.observation.clear();
  return 0;
}

void destroy(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Awaitable& awaitable = awaitable_of(self);
  PyTypeObject* const type = Py_TYPE(self);
  (void)clear(self);
  awaitable.outcome.~optional();
  awaitable.observation.~Observation();
  awaitable.operation.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef g_methods[] = {
    {"send", as_method(+[](PyObject* self, PyObject* /*value*/) { return next(self); }), METH_O,
     nullptr},
    {"throw", as_method(throw_in), METH_FASTCALL, nullptr},
    {"close", close, METH_NOARGS, nullptr},
    {"cancel", as_method(cancel), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"add_done_callback", as_method(add_done_callback), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"result", result, METH_NOARGS, nullptr},
    {"get_loop",
     [](PyObject* self, PyObject* /*unused*/) { return Py_NewRef(awaitable_of(self).loop); },
     METH_NOARGS, nullptr},
    {"done",
     [](PyObject* self, PyObject* /*unused*/) {
       return PyBool_FromLong(awaitable_of(self).done() ? 1 : 0);
     },
     METH_NOARGS, nullptr},
    {"cancelled",
     [](PyObject* self, PyObject* /*unused*/) {
       return PyBool_FromLong(awaitable_of(self).cancelled ? 1 : 0);
     },
     METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef g_attributes[] = {
    {"_asyncio_future_blocking",
     [](PyObject* self, void* /*unused*/) {
       // None where asyncio is not to take it for a Future.
       if (awaitable_of(self).fresh) return Py_NewRef(Py_None);
       return PyBool_FromLong(awaitable_of(self).blocking ? 1 : 0);
     },
     [](PyObject* self, PyObject* value, void* /*unused*/) {
       awaitable_of(self).blocking = value == Py_True;
       return 0;
     },
     nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// With a loop that is not one: it is never used, and must not be kept.
py::object finished_future() {
  py::dict attributes;
  attributes["get_debug"] = py::module_::import("builtins").attr("bool");  // false
  const py::object no_loop = py::module_::import("types").attr("SimpleNamespace")(**attributes);
  py::object made = py::module_::import("asyncio").attr("Future")(py::arg("loop") = no_loop);
  made.attr("set_result")(py::none());
  return made;
}

// Kept for ever.
PyTypeObject* g_type = nullptr;

}  // namespace

void make_awaitable_type() {
  static std::array<PyType_Slot, 11> slots{{
      {Py_am_await, reinterpret_cast<void*>(PyObject_SelfIter)},
      {Py_am_send, reinterpret_cast<void*>(send)},
      {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
      {Py_tp_iternext, reinterpret_cast<void*>(next)},
      {Py_tp_methods, g_methods},
      {Py_tp_getset, g_attributes},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
      {Py_tp_doc, const_cast<char*>("The result of an operation, awaited by one task.")},
      {0, nullptr},
  }};
  static PyType_Spec spec{
      "holdfast._core.Awaitable", sizeof(Awaitable), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots.data()};
  PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  g_type = reinterpret_cast<PyTypeObject*>(type);
}

py::object new_awaitable(const AwaitableKind* lazy) {
  PyObject* const self = g_type->tp_alloc(g_type, 0);
  if (self == nullptr) throw py::error_already_set();
  Awaitable& awaitable = awaitable_of(self);
  new (&awaitable.operation) sync::ExchangePtr();
  new (&awaitable.observation) Observation();
  new (&awaitable.outcome) std::optional<sync::Outcome>();
  awaitable.lazy = lazy;
  awaitable.fresh = lazy != nullptr;
  return py::reinterpret_steal<py::object>(self);
}

py::object Awaitable::value() {
  PythonOutcome result = to_python(*operation, *outcome);
  if (result.exception) raise(result.exception);
  return std::move(result.value);
}

void Awaitable::leave_queue() {
  if (queue != nullptr) (void)queue->take(id);
  queue = nullptr;
}

// A Task takes the result of asyncio's Future without a call, others by name. It uses nothing
// else of it. It writes to a Future, so that without a GIL the loops of several threads share none.
PyObject* Awaitable::awaited() {
  if (cancelled || kFreeThreaded) return object();
  static KeptObject finished;
  return finished.get(finished_future).ptr();
}

void Awaitable::call_soon() {
  const auto next = py::reinterpret_steal<py::object>(std::exchange(callback, nullptr));
  const auto inside = py::reinterpret_steal<py::object>(std::exchange(context, nullptr));
  if (!next) return;
  static KeptObject method;
  static KeptObject keywords;
  const std::array<PyObject*, 4> given{loop, next.ptr(), awaited(), inside.ptr()};
  constexpr std::size_t kPositional = 3;
  PyObject* const handle =
      PyObject_VectorcallMethod(method.interned("call_soon").ptr(), given.data(), kPositional,
                                keywords.get([] { return py::make_tuple("context"); }).ptr());
  if (handle == nullptr) throw py::error_already_set();
  Py_DECREF(handle);
}

void Awaitable::step() {
  if (callback == nullptr) return;
  if (PyContext_Enter(context) != 0) {  // it is entered already
    PyErr_Clear();
    return call_soon();
  }
  const auto next = py::reinterpret_steal<py::object>(std::exchange(callback, nullptr));
  const auto inside = py::reinterpret_steal<py::object>(std::exchange(context, nullptr));
  PyObject* const result = PyObject_CallOneArg(next.ptr(), awaited());
  Py_XDECREF(result);
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyContext_Exit(inside.ptr());
  if (result != nullptr) return;
  PyErr_Restore(type, value, traceback);
  throw py::error_already_set();
}
}  // namespace holdfast::bindings
