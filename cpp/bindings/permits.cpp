#include "bindings/permits.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bindings/critical_section.h"
#include "bindings/native_object.h"
#include "bindings/register.h"
#include "locks/locks.h"
#include "redis/base/digits.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

constexpr std::size_t kBytes = 16;
constexpr std::size_t kDigits = 2 * kBytes;
constexpr unsigned kHalfByte = 4;

// The value of each byte, as of hex_digit().
constexpr auto kHexValues = [] {
  constexpr std::size_t kAll = 256;
  std::array<std::int8_t, kAll> values{};
  for (std::size_t i = 0; i < kAll; ++i) {
    values[i] = static_cast<std::int8_t>(hex_digit(static_cast<char>(i)));
  }
  return values;
}();

py::object attribute(py::handle of, py::handle name) {
  PyObject* const value = PyObject_GetAttr(of.ptr(), name.ptr());
  if (value == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(value);
}

py::object taken_by_client(PyObject* semaphore) {
  static KeptObject client;
  static KeptObject permits;
  return attribute(attribute(semaphore, client.interned("_client")), permits.interned("_permits"));
}

}  // namespace

py::str hex_of(const std::string& permit) {
  PyObject* const text = PyUnicode_New(static_cast<Py_ssize_t>(kDigits), 'f');
  if (text == nullptr) throw py::error_already_set();
  auto* to = PyUnicode_1BYTE_DATA(text);
  for (const char byte : permit) {
    const auto value = static_cast<unsigned char>(byte);
    *to++ = static_cast<Py_UCS1>(kHexDigits[value >> kHalfByte]);
    *to++ = static_cast<Py_UCS1>(kHexDigits[value & 15U]);
  }
  return py::reinterpret_steal<py::str>(text);
}

std::optional<std::string> permit_in(PyObject* text) {
  if (!PyUnicode_Check(text)) return std::nullopt;
  if (PyUnicode_GET_LENGTH(text) != static_cast<Py_ssize_t>(kDigits)) return std::nullopt;
  const char* digits = PyUnicode_AsUTF8(text);
  if (digits == nullptr) {
    PyErr_Clear();  // a half of a surrogate pair
    return std::nullopt;
  }
  const auto value_of = [](char digit) { return kHexValues[static_cast<unsigned char>(digit)]; };
  std::string permit(kBytes, '\0');
  for (char& byte : permit) {
    const int high = value_of(*digits++);
    const int low = value_of(*digits++);
    if ((high | low) < 0) return std::nullopt;
    byte = static_cast<char>(high << kHalfByte | low);
  }
  return permit;
}

void expect_permit(PyObject* semaphore, const py::object& id, const py::object& report) {
  const py::object taken = taken_by_client(semaphore);
  const py::tuple entry = py::make_tuple(self_of(semaphore), report);
  if (PyDict_SetItem(taken.ptr(), id.ptr(), entry.ptr()) != 0) throw py::error_already_set();
}

void forget_permit(PyObject* semaphore, const py::object& id) {
  static KeptObject gone;
  const py::object entry = take_item(taken_by_client(semaphore), id);
  if (!entry) return;
  const py::object lost = attribute(PyTuple_GET_ITEM(entry.ptr(), 0), gone.interned("_gone"));
  if (PyDict_Size(lost.ptr()) > 0) (void)take_item(lost, id);
}

namespace {

const Registration g_registration([](py::module_& module) {
  module
      .def("permit_id",
           [](const std::string& client_id, std::uint64_t number) {
             return hex_of(sync::permit_id(client_id, OwnerNumber{number}));
           })
      .def("permit_bytes",
           [](const py::object& text) -> std::optional<py::bytes> {
             const auto permit = permit_in(text.ptr());
             if (!permit) return std::nullopt;
             return py::bytes(*permit);
           })
      .def("expect_permit",
           [](const py::object& semaphore, const py::object& id, const py::object& report) {
             expect_permit(semaphore.ptr(), id, report);
           })
      .def("forget_permit", [](const py::object& semaphore,
                               const py::object& id) { forget_permit(semaphore.ptr(), id); })
      // In one call, so that no interrupt comes between two of them.
      .def("forget_permits", [](const py::object& semaphore, const py::list& permits) {
        for (const py::handle permit : permits) {
          forget_permit(semaphore.ptr(), hex_of(permit.cast<std::string>()));
        }
      });
});

}  // namespace

}  // namespace holdfast::bindings
