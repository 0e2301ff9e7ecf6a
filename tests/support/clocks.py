"""Clocks that step, for a server or a child process; the machine's own stay as they are.

    server = start_server(environment=clocks.environment)
    clocks.step(wall=3600)         # one hour later, for all processes of this environment

`clocks` is the fixture of this module; it compiles clock_shim.c, and skips where there is no
compiler.
"""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_name("clock_shim.c")
_NANOSECONDS = 1_000_000_000


class Clocks:
    """The wall clock and the boot clock of the processes that are started with `environment`."""

    def __init__(self, shim: Path, offsets: Path) -> None:
        offsets.write_bytes(bytes(16))
        with offsets.open("r+b") as file:
            self._offsets = mmap.mmap(file.fileno(), 16)
        self.environment = {"LD_PRELOAD": str(shim), "HOLDFAST_TEST_CLOCKS": str(offsets)}

    def step(self, *, wall: float = 0.0, boot: float = 0.0) -> None:
        """Move the clocks of all processes by these seconds, forward or back, at once."""
        old = struct.unpack("qq", self._offsets[:])
        steps = (wall * _NANOSECONDS, boot * _NANOSECONDS)
        self._offsets[:] = struct.pack("qq", *(int(a + b) for a, b in zip(old, steps, strict=True)))


@pytest.fixture(scope="session")
def clock_shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled shim."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler for the clock shim")
    library = tmp_path_factory.mktemp("clocks") / "shim.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", str(_SOURCE)]
    subprocess.run([*command, "-o", str(library)], check=True)
    return library


@pytest.fixture
def clocks(clock_shim: Path, tmp_path: Path) -> Clocks:
    """Clocks that are right, until they are stepped."""
    return Clocks(clock_shim, tmp_path / "offsets")
