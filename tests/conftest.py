"""The fixtures of all tests: see the modules below in tests/support."""

import signal

# A run in the background of a shell inherits these ignored, and so would its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

pytest_plugins = (
    "pytester",
    "tests.support.matrix",
    "tests.support.clocks",
    "tests.support.fixtures",
    "tests.support.kinds",
    "tests.support.names",
    "tests.support.owners",
    "tests.support.processes",
    "tests.support.refusals",
    "tests.support.replicas",
    "tests.support.state_machines",
    "tests.support.workers",
)
