"""What protects shared objects without a GIL, taken away on purpose.

    python3.13t -m tests.faults.freethreaded_breaks all

In a Python without a GIL, with the package as an editable install: each break is made in the
working copy, the module is built, and its test has to fail. Run nothing else there meanwhile. What
only ThreadSanitizer finds is not here: `nox -s freethreaded_tsan` finds it.
"""

from __future__ import annotations

import sys

from tests.support.breaking import Break, main

THREADS = "tests/citizenship/test_shared_by_threads.py"
LOOPS = "tests/citizenship/test_shared_by_loops.py"

BREAKS = (
    Break(
        (),
        "the module has the GIL switched on",
        "cpp/bindings/module.cpp",
        ((", pybind11::mod_gil_not_used()", ""),),
        "tests/citizenship/test_package.py::test_importing_it_leaves_the_gil_off",
    ),
    Break(
        (),
        "two calls change the number of calls at once",
        "cpp/bindings/native_object.h",
        (("  Shared<int> users{0};", "  int users = 0;"),),
        f"{THREADS}::test_a_lock_object_knows_when_the_last_call_has_ended",
    ),
    Break(
        (),
        "a hold is looked at, and then claimed",
        "cpp/bindings/blocking_hold.cpp",
        (
            (
                "  if (exchange(state.claimed, true)) raise(",
                "  const bool before = state.claimed;\n  state.claimed = true;\n"
                "  if (before) raise(",
            ),
        ),
        f"{THREADS}::test_a_hold_is_ended_by_one_of_its_threads",
    ),
    Break(
        (),
        "a permit is found, and then removed",
        "cpp/bindings/permits.cpp",
        (
            (
                "  const py::object entry = take_item(taken_by_client(semaphore), id);\n"
                "  if (!entry) return;\n",
                "  const py::object entry = item_of(taken_by_client(semaphore), id);\n"
                "  if (!entry) return;\n"
                "  if (PyDict_DelItem(taken_by_client(semaphore).ptr(), id.ptr()) != 0)\n"
                "    throw py::error_already_set();\n",
            ),
        ),
        f"{THREADS}::test_a_permit_is_forgotten_once",
    ),
    Break(
        (),
        "a call uses an observer without counting as its user",
        "cpp/bindings/observer.cpp",
        (
            (
                "  const SharedLock lock(g_mutex);\n"
                "  return py::reinterpret_borrow<py::object>(g_observer);\n",
                "  return py::reinterpret_borrow<py::object>(g_observer);\n",
            ),
        ),
        f"{THREADS}::test_an_observer_is_replaced_while_threads_acquire",
    ),
    Break(
        (),
        "all threads use the queue of the loop that called last",
        "cpp/bindings/task_queue.cpp",
        (("  if constexpr (kFreeThreaded) return", "  if constexpr (false) return"),),
        f"{LOOPS}::test_event_loops_of_several_threads_share_a_lock_object[False]",
    ),
    Break(
        (),
        "the clients are counted while others are made",
        "python/holdfast/_base_client.py",
        (
            (
                "    known = _clients.valuerefs()  # a copy: other threads make clients meanwhile\n"
                "    return [client for each in known if (client := each()) is not None]\n",
                "    return [client for client in _clients.values() if client is not None]\n",
            ),
        ),
        f"{THREADS}::test_clients_are_made_and_closed_while_others_are_listed",
    ),
    Break(
        (),
        "each thread makes a listener for the permits of the client",
        "python/holdfast/_permit_semaphore.py",
        (
            (
                "        losses.setdefault(0, PermitLosses(client))",
                "        losses[0] = PermitLosses(client)",
            ),
        ),
        f"{THREADS}::test_all_semaphores_of_a_client_have_one_listener",
    ),
)

if __name__ == "__main__":
    sys.exit(main(BREAKS))
