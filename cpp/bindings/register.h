#pragma once

#include <pybind11/pybind11.h>

namespace holdfast::bindings {

void register_task_queue(pybind11::module_& module);
void register_blocking_hold(pybind11::module_& module);
void register_blocking_lock(pybind11::module_& module);
void register_blocking_permit_semaphore(pybind11::module_& module);
void register_blocking_semaphore(pybind11::module_& module);
void register_client(pybind11::module_& module);
void register_commands(pybind11::module_& module);
void register_count_down_latch(pybind11::module_& module);
void register_lock(pybind11::module_& module);
void register_passwords(pybind11::module_& module);
void register_permit_semaphore(pybind11::module_& module);
void register_quorum(pybind11::module_& module);
void register_queues(pybind11::module_& module);
void register_semaphore(pybind11::module_& module);

}  // namespace holdfast::bindings
