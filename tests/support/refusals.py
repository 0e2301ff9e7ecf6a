"""System calls that fail at their n-th use, in a child process.

    child = start_child(REFUSALS + program, environment=refusals.environment)

In the program, `refuse("socket", 2, 1, errno.EMFILE)` lets the second use from now on fail, and
`refuse("socket", 1, 0, …)` all; `refuse_nothing()` ends it, and `used()` is the number of uses
since the last `refuse()`. `free_descriptors(3)` leaves the process three, `any_descriptors()` ends
that.
`refusals` is the fixture of this module; it compiles refusal_shim.c, and skips where there is no
compiler.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_name("refusal_shim.c")

REFUSALS = """
import errno, resource
_shim = ctypes.CDLL(None)
_limits = resource.getrlimit(resource.RLIMIT_NOFILE)
_fillers = []

def refuse(call, nth, times, error):
    _shim.refusals_arm(call.encode(), ctypes.c_long(nth), ctypes.c_long(times), error)

def refuse_nothing():
    refuse("", 0, 0, 0)

def used():
    return _shim.refusals_uses()

def descriptors():
    return sorted(set(os.listdir("/proc/self/fd")), key=int)

def threads():
    return len(os.listdir("/proc/self/task"))

def free_descriptors(count):
    highest = max(map(int, descriptors()))
    while not _fillers or _fillers[-1] < highest:
        _fillers.append(os.open("/dev/null", os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_fillers[-1] + 1 + count, _limits[1]))

def any_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, _limits)
    while _fillers:
        os.close(_fillers.pop())
"""


class Refusals:
    """The environment of a process whose system calls may be refused."""

    def __init__(self, shim: Path) -> None:
        self.shim = shim
        self.environment = {"LD_PRELOAD": str(shim)}


def compiled_shim(folder: Path) -> Path | None:
    """The compiled shim; ``None`` where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = folder / "refusals.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", str(_SOURCE)]
    subprocess.run([*command, "-o", str(library), "-ldl"], check=True)
    return library


@pytest.fixture(scope="session")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> Refusals:
    """For the environment of children."""
    shim = compiled_shim(tmp_path_factory.mktemp("refusals"))
    if shim is None:
        pytest.skip("no C compiler for the refusal shim")
    return Refusals(shim)
