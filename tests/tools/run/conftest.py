"""Starts `holdfast run` in a separate process; what is left of it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.support.servers import Server
from tests.support.waiting import eventually

pytest.importorskip("click", reason="the command line needs the extra cli")

COMMAND = [sys.executable, "-m", "holdfast"]
BOUND = 60.0

Start = Callable[..., "Running"]


class Running:
    """One run; `words` are what follows `holdfast --url URL run`, `prefix` stands before it."""

    def __init__(
        self, url: str, *words: str | bytes, prefix: Sequence[str] = (), **options: Any
    ) -> None:
        self.process = subprocess.Popen(
            [*prefix, *COMMAND, "--url", url, "run", *words],
            text=True,
            **{
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "env": environment(),
                "preexec_fn": _as_from_a_shell(),
                **options,
            },
        )

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> tuple[int, str, str]:
        """Its status, and what it and its command wrote."""
        out, errors = self.process.communicate(timeout=BOUND)
        return self.process.returncode, out, errors

    def status(self) -> int:
        return self.end()[0]


def _as_from_a_shell() -> Callable[[], Any] | None:
    """What to do in the new process: nohup, or a service, may have started the tests."""
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        return None
    return lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "ignore"}


@pytest.fixture
def start(server: Server) -> Iterator[Start]:
    """Start a run on the test's server."""
    started: list[Running] = []

    def begin(*words: str | bytes, url: str = server.url, **options: Any) -> Running:
        started.append(Running(url, *words, **options))
        return started[-1]

    yield begin
    for running in started:
        if running.process.poll() is None:
            running.signal(signal.SIGKILL)
        with suppress(ValueError):
            running.process.communicate(timeout=BOUND)


@pytest.fixture
def client(server: Server) -> Iterator[holdfast.Client]:
    with holdfast.Client(server.url) as client:
        yield client


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    return Marks(tmp_path)


class Marks:
    """Files by which a command says how far it has come."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def wait(self, name: str) -> str:
        """The text of a mark, once it is there; a mark is written with a line end."""
        path = self.folder / name
        eventually(
            lambda: path.exists() and path.read_text().endswith("\n"), within=BOUND, what=name
        )
        return path.read_text().strip()

    def exists(self, name: str) -> bool:
        return (self.folder / name).exists()


def state_of(pid: int) -> str:
    """The letter of /proc for the state of a process: T is stopped; Z, too, one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    return state_of(pid) != "Z"


def children_of(pid: int) -> list[int]:
    """The processes that a process has started, or adopted, but for its guard."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    names = {child: Path(f"/proc/{child}/comm").read_text().strip() for child in children}
    return [int(child) for child in children if names[child] != "holdfast-guard"]


def await_death(pid: int) -> None:
    eventually(lambda: not alive(pid), within=BOUND, what=f"process {pid} has ended")
