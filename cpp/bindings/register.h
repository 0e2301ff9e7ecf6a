#pragma once

#include <pybind11/pybind11.h>

namespace holdfast::bindings {

// Registers the bindings of a synchronizer's file, by an object of namespace scope, so that no list
// has to name the file. They run after all of the functions below, in no particular order.
class Registration {
 public:
  using Register = void (*)(pybind11::module_& module);
  explicit Registration(Register add);
  static void add_all(pybind11::module_& module);

 private:
  const Register add_;
  const Registration* const next_;
};

void register_task_queue(pybind11::module_& module);
void register_client(pybind11::module_& module);
void register_commands(pybind11::module_& module);
void register_queues(pybind11::module_& module);
void register_synchronizers(pybind11::module_& module);

}  // namespace holdfast::bindings
