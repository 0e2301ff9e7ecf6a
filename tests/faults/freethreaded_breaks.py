"""What protects shared objects without a GIL, taken away on purpose.

    PYTHON_GIL=0 python3.13t -m tests.faults.freethreaded_breaks all

In a Python without a GIL, with the package as an editable install: each break is made in the
working copy, the module is built, and its test has to fail. Run nothing else there meanwhile. Races
of a few instructions are not here: ThreadSanitizer looks for them, `nox -s python-tsan`.
"""

from __future__ import annotations

import sys

from tests.support.breaking import Break, main

THREADS = "tests/contract/process/test_shared_by_threads.py"

BREAKS = (
    Break(
        (),
        "the module has the GIL switched on",
        "cpp/bindings/module.cpp",
        ((", pybind11::mod_gil_not_used()", ""),),
        "tests/contract/process/test_package.py::test_importing_it_leaves_the_gil_off",
    ),
    Break(
        (),
        "the clients are counted while others are made",
        "python/holdfast/_engine/process.py",
        (
            (
                "    known = clients.valuerefs()  # a copy: other threads make clients meanwhile\n"
                "    return [client for each in known if (client := each()) is not None]\n",
                "    return [client for client in clients.values() if client is not None]\n",
            ),
        ),
        f"{THREADS}::test_clients_are_made_and_closed_while_others_are_listed",
    ),
    Break(
        (),
        "each thread makes a listener for the permits of the client",
        "python/holdfast/_locks/permit_semaphore.py",
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
