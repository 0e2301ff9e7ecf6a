#include "bindings/native_object.h"

#include <array>
#include <deque>
#include <string>

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

PyObject* make_native(PyTypeObject* type, PyObject* /*args*/, PyObject* /*keywords*/) {
  PyObject* const self = type->tp_alloc(type, 0);
  if (self != nullptr) reinterpret_cast<NativeObject*>(self)->state = nullptr;
  return self;
}

void destroy_native(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  delete reinterpret_cast<NativeObject*>(self)->state;
  type->tp_free(self);
  Py_DECREF(type);  // an instance of a heap type keeps it alive
}

py::object native_type(PyType_Spec& spec, const py::handle& base) {
  PyObject* const type = PyType_FromSpecWithBases(&spec, base.ptr());
  if (type == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(type);
}

}  // namespace

py::object native_root() {
  static PyObject* const root = [] {
    static std::array<PyType_Slot, 3> slots{{
        {Py_tp_new, reinterpret_cast<void*>(make_native)},
        {Py_tp_dealloc, reinterpret_cast<void*>(destroy_native)},
        {0, nullptr},
    }};
    static PyType_Spec spec{"holdfast._core.Native", sizeof(NativeObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots.data()};
    return native_type(spec, py::handle()).release().ptr();
  }();
  return py::reinterpret_borrow<py::object>(root);
}

void raise_unbound(PyObject* self) {
  PyErr_Format(PyExc_RuntimeError, "%.100s.__init__() was not called", Py_TYPE(self)->tp_name);
  throw py::error_already_set();
}

py::object described(const py::handle& method, const std::string& text) {
  if (!Py_IS_TYPE(method.ptr(), &PyMethodDescr_Type)) {
    throw py::type_error("described() takes a native method");
  }
  static auto* const texts = new std::deque<std::string>;
  static auto* const definitions = new std::deque<PyMethodDef>;
  auto* const from = reinterpret_cast<PyMethodDescrObject*>(method.ptr());
  definitions->push_back(*from->d_method);
  definitions->back().ml_doc = texts->emplace_back(text).c_str();
  PyObject* const made = PyDescr_NewMethod(PyDescr_TYPE(from), &definitions->back());
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

void add_native_type(py::module_& module, const char* qualified_name, PyMethodDef* methods,
                     PyGetSetDef* attributes) {
  const PyType_Slot end{0, nullptr};
  std::array<PyType_Slot, 3> slots{{
      {Py_tp_methods, methods},
      attributes == nullptr ? end : PyType_Slot{Py_tp_getset, attributes},
      end,
  }};
  PyType_Spec spec{qualified_name, sizeof(NativeObject), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots.data()};
  const py::object type = native_type(spec, native_root());
  module.add_object(type.attr("__name__").cast<std::string>().c_str(), type);
}

}  // namespace holdfast::bindings
