#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "bindings/conversions.h"
#include "bindings/native_object.h"

namespace holdfast::bindings {

// What a function of C++ is called with from Python, in order.
struct Given {
  pybind11::handle self;  // the first one of a method; null: of a function
  Arguments rest;

  Py_ssize_t size() const { return rest.count + (self ? 1 : 0); }
  pybind11::handle operator[](Py_ssize_t place) const {
    if (!self) return rest[place];
    return place == 0 ? self : rest[place - 1];
  }
  void at_most(Py_ssize_t count) const;  // else raises TypeError
};

// The argument at a place. An optional one may be missing.
template <typename Parameter>
decltype(auto) argument(const Given& given, Py_ssize_t place) {
  namespace py = pybind11;
  using Value = std::decay_t<Parameter>;
  using Caster = py::detail::make_caster<Value>;
  if constexpr (std::is_lvalue_reference_v<Parameter> &&
                std::is_base_of_v<py::detail::type_caster_base<Value>, Caster>) {
    return given[place].cast<Value&>();
  } else if constexpr (std::is_constructible_v<Value, std::nullopt_t>) {
    return place < given.size() ? given[place].cast<Value>() : Value{};
  } else {
    return given[place].cast<Value>();
  }
}

template <typename Result>
pybind11::object result_of(Result&& result) {
  if constexpr (std::is_base_of_v<pybind11::object, std::decay_t<Result>>) {
    return std::forward<Result>(result);
  } else {
    return pybind11::cast(std::forward<Result>(result));
  }
}

// How a function, a member function (its object is the first parameter) or a member is called.
template <typename Function>
struct Signature;

template <typename Result, typename... Parameters>
struct Signature<Result (*)(Parameters...)> {
  template <auto function>
  static pybind11::object call(const Given& given) {
    given.at_most(sizeof...(Parameters));
    return call<function>(given, std::index_sequence_for<Parameters...>{});
  }

 private:
  template <auto function, std::size_t... places>
  static pybind11::object call(const Given& given, std::index_sequence<places...> /*unused*/) {
    const auto result = [&given]() -> Result {
      (void)given;
      return std::invoke(function, argument<Parameters>(given, places)...);
    };
    if constexpr (std::is_void_v<Result>) {
      result();
      return pybind11::none();
    } else {
      return result_of(result());
    }
  }
};

// A function of many arguments, which it reads itself.
template <typename Result>
struct Signature<Result (*)(const Given&)> {
  template <auto function>
  static pybind11::object call(const Given& given) {
    return result_of(function(given));
  }
};

template <typename Result, typename Object, typename... Parameters>
struct Signature<Result (Object::*)(Parameters...)>
    : Signature<Result (*)(Object&, Parameters...)> {};

template <typename Result, typename Object, typename... Parameters>
struct Signature<Result (Object::*)(Parameters...) const>
    : Signature<Result (*)(const Object&, Parameters...)> {};

template <typename Value, typename Object>
struct Signature<Value Object::*> : Signature<Value& (*)(Object&)> {
  template <auto member>
  static pybind11::object assign(const Given& given) {
    given[0].cast<Object&>().*member = given[1].cast<Value>();
    return pybind11::none();
  }
};

// Adds functions of C++ to a module, or to a class of pybind11. pybind11's own def() compiles some
// 3 KB for each signature, and calls go through its dispatcher.
class Members {
 public:
  explicit Members(pybind11::handle of) : of_(of) {}

  template <auto function>
  Members& def(const char* name) {
    return add_function(name, [](PyObject*, PyObject* const* values, Py_ssize_t count) {
      return called(&Signature<decltype(function)>::template call<function>,
                    {{}, {values, count, nullptr}});
    });
  }
  template <auto function>
  Members& method(const char* name) {
    return add_method(name, [](PyObject* self, PyObject* const* values, Py_ssize_t count) {
      return called(&Signature<decltype(function)>::template call<function>,
                    {self, {values, count, nullptr}});
    });
  }
  // Read only: a member, or a function of the object.
  template <auto function>
  Members& property(const char* name) {
    return add_property(name, &get<function>, nullptr);
  }
  // A member; or what the first function of the object returns and the second one sets.
  template <auto member, auto set = nullptr>
  Members& field(const char* name) {
    return add_property(name, &get<member>, [](PyObject* self, PyObject* value, void*) {
      const Given given{self, {&value, 1, nullptr}};
      if constexpr (std::is_null_pointer_v<decltype(set)>) {
        return done(called(&Signature<decltype(member)>::template assign<member>, given));
      } else {
        return done(called(&Signature<decltype(set)>::template call<set>, given));
      }
    });
  }

 private:
  using Function = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);

  template <auto function>
  static PyObject* get(PyObject* self, void* /*unused*/) {
    return called(&Signature<decltype(function)>::template call<function>,
                  {self, {nullptr, 0, nullptr}});
  }

  static PyObject* called(pybind11::object (*function)(const Given&), const Given& given);
  static int done(PyObject* none);
  Members& add_function(const char* name, Function function);
  Members& add_method(const char* name, Function function);
  Members& add_property(const char* name, getter read, setter write);

  const pybind11::handle of_;
};

}  // namespace holdfast::bindings
