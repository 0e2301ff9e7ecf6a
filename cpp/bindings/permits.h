#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>

namespace holdfast::bindings {

// The id of a permit as Python has it: 32 hex digits.
pybind11::str hex_of(const std::string& permit);
// The 16 bytes of an id; nothing where `text` is not one.
std::optional<std::string> permit_in(PyObject* text);

// The permits that a client has taken: `_permits` of its Python object, a dict of ids, each with
// the object of the semaphore that took it and the function to call with a lost permit (None: there
// is none).
//
// The permit is about to be taken by that object.
void expect_permit(PyObject* semaphore, const pybind11::object& id, const pybind11::object& report);
// It is not in use, or has no owner any more; it may have been taken by another object of the
// client, for which it is not lost any more either.
void forget_permit(PyObject* semaphore, const pybind11::object& id);

}  // namespace holdfast::bindings
