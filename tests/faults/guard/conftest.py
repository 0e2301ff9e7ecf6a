"""Programs with guards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.support.processes import Child, StartChild
from tests.support.servers import Server
from tests.support.waiting import eventually

HOLDER = """
client = holdfast.Client(URL, guard=True, **{"lease": 120, **OPTIONS})
held = [client.lock(name) for name in NAMES]
for lock in held:
    lock.acquire()
say("held", client._core.guard_pid)
while True:
    exec(hear())
"""
"""A program that holds locks, and executes the lines that it hears."""


class Program:
    """A program with a guard."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.guard = int(child.expect("held")[0])

    def kill(self) -> None:
        self.child.kill()

    def do(self, line: str) -> None:
        """Let it execute a line."""
        self.child.send(line)


StartProgram = Callable[..., Program]


@pytest.fixture
def start_program(start_child: StartChild, server: Server) -> StartProgram:
    """Start one that holds locks of these names: `start_program("a", "b", **options)`."""

    def start(*names: str, url: str | None = None, **options: Any) -> Program:
        child = start_child(HOLDER, URL=url or server.url, NAMES=names, OPTIONS=options)
        return Program(child)

    return start


@pytest.fixture
def next_owner(server: Server) -> Iterator[holdfast.Client]:
    """A client of the next owners."""
    client = holdfast.Client(server.url, lease=60.0)
    yield client
    client.close(release_held=True)


def exists(pid: int) -> bool:
    """Whether that process has not ended; a zombie has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        return stat.rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ended(pid: int) -> None:
    """Return when that process has ended."""
    eventually(lambda: not exists(pid), what=f"the end of process {pid}")
