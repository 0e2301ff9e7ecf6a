#include "bindings/native_object.h"
#include "bindings/register.h"

// The engine as Python sees it: conversions only. The public classes are in python/holdfast.
PYBIND11_MODULE(_core, module) {
  module.attr("__version__") = HOLDFAST_VERSION;
  module.add_object("Native", holdfast::bindings::native_root());
  holdfast::bindings::register_blocking_hold(module);
  holdfast::bindings::register_blocking_lock(module);
  holdfast::bindings::register_blocking_permit_semaphore(module);
  holdfast::bindings::register_blocking_semaphore(module);
  holdfast::bindings::register_client(module);
  holdfast::bindings::register_commands(module);
  holdfast::bindings::register_lock(module);
  holdfast::bindings::register_passwords(module);
  holdfast::bindings::register_permit_semaphore(module);
  holdfast::bindings::register_quorum(module);
  holdfast::bindings::register_queues(module);
  holdfast::bindings::register_semaphore(module);
  holdfast::bindings::register_count_down_latch(module);
}
