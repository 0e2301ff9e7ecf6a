#include "bindings/members.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

// Lives as long as the process, as a type or a function refers to it.
template <typename Definition>
Definition* kept(Definition definition) {
  return new Definition(definition);
}

void set(py::handle of, const char* name, PyObject* made) {
  if (made == nullptr) throw py::error_already_set();
  py::setattr(of, name, py::reinterpret_steal<py::object>(made));
}

PyTypeObject* type_of(py::handle of) { return reinterpret_cast<PyTypeObject*>(of.ptr()); }

}  // namespace

void Given::at_most(Py_ssize_t count) const {
  if (size() <= count) return;
  PyErr_Format(PyExc_TypeError, "at most %zd arguments are taken (%zd given)", count, size());
  throw py::error_already_set();
}

PyObject* Members::called(py::object (*function)(const Given&), const Given& given) {
  return guarded([&] { return function(given); });
}

int Members::done(PyObject* none) {
  Py_XDECREF(none);
  return none == nullptr ? -1 : 0;
}

Members& Members::add_function(const char* name, Function function) {
  PyMethodDef* const made = kept(PyMethodDef{name, as_method(function), METH_FASTCALL, nullptr});
  set(of_, name, PyCFunction_NewEx(made, of_.ptr(), nullptr));
  return *this;
}

Members& Members::add_method(const char* name, Function function) {
  PyMethodDef* const made = kept(PyMethodDef{name, as_method(function), METH_FASTCALL, nullptr});
  set(of_, name, PyDescr_NewMethod(type_of(of_), made));
  return *this;
}

Members& Members::add_property(const char* name, getter read, setter write) {
  PyGetSetDef* const made = kept(PyGetSetDef{name, read, write, nullptr, nullptr});
  set(of_, name, PyDescr_NewGetSet(type_of(of_), made));
  return *this;
}

}  // namespace holdfast::bindings
