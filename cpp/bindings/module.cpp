#include "bindings/errors.h"
#include "bindings/native_object.h"
#include "bindings/register.h"
#include "redis/base/process.h"

namespace holdfast::bindings {

namespace {

// The newest; null before any constructor runs.
const Registration* g_registrations = nullptr;

// PyGILState_Check() is always true once a program has made a subinterpreter. Before CPython 3.12
// the current state may be of another thread; one of the library has none.
bool holds_interpreter() {
#if PY_VERSION_HEX >= 0x030d0000
  PyThreadState* const current = PyThreadState_GetUnchecked();
#else
  PyThreadState* const current = _PyThreadState_UncheckedGet();
#endif
  return current != nullptr && current == PyGILState_GetThisThreadState();
}

constexpr Interpreter kInterpreter{holds_interpreter, [](const std::function<void()>& body) {
                                     const pybind11::gil_scoped_release released;
                                     body();
                                   }};

}  // namespace

Registration::Registration(Register add) : add_(add), next_(g_registrations) {
  g_registrations = this;
}

void Registration::add_all(pybind11::module_& module) {
  for (auto* each = g_registrations; each != nullptr; each = each->next_) each->add_(module);
}

}  // namespace holdfast::bindings

// The engine as Python sees it: conversions only. The public classes are in python/holdfast.
// It does not need the GIL: see critical_section.h.
PYBIND11_MODULE(core_of_main_interpreter, module, pybind11::mod_gil_not_used()) {
  holdfast::set_interpreter(holdfast::bindings::kInterpreter);
  pybind11::register_local_exception_translator(holdfast::bindings::translate_limit);
  module.attr("__version__") = HOLDFAST_VERSION;
  module.add_object("Native", holdfast::bindings::native_root());
  module.def("described", &holdfast::bindings::described);
  holdfast::bindings::register_queues(module);
  holdfast::bindings::register_client(module);
  holdfast::bindings::register_commands(module);
  holdfast::bindings::register_synchronizers(module);
  holdfast::bindings::register_task_queue(module);
  holdfast::bindings::Registration::add_all(module);
}

// The module's entry point. pybind11 would wait for ever in a subinterpreter, so it is not called
// there.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) {
    return PyInit_core_of_main_interpreter();
  }
  PyErr_SetString(PyExc_ImportError,
                  "holdfast cannot be imported in a subinterpreter: its threads serve the main "
                  "interpreter only; import it there, or in another process");
  return nullptr;
}
