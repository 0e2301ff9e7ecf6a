#pragma once

#include <pybind11/pybind11.h>

namespace holdfast::bindings {

// Adds to the module what a file of a synchronizer has for it, by an object of namespace scope: so
// no list has to name the file. In no order, after all of the functions below.
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
void register_blocking_hold(pybind11::module_& module);
void register_blocking_lock(pybind11::module_& module);
void register_client(pybind11::module_& module);
void register_commands(pybind11::module_& module);
void register_counter(pybind11::module_& module);
void register_lock(pybind11::module_& module);
void register_passwords(pybind11::module_& module);
void register_quorum(pybind11::module_& module);
void register_queues(pybind11::module_& module);

}  // namespace holdfast::bindings
