"""The fixtures of all tests: see fixtures.py, owners.py and processes.py in tests/support."""

pytest_plugins = (
    "tests.support.fixtures",
    "tests.support.owners",
    "tests.support.processes",
)
