"""Child processes that run a Python program and meet their parent line by line.

    child = start_child('''
        client = holdfast.Client(URL)
        client.lock("myLock").acquire()
        say("held")
        hear("go")
    ''', URL=server.url)
    child.expect("held")        # returns when the child has said it, fails when it has not
    child.send("go")
    assert child.wait() == 0

A program begins with `say(*words)` (a line to the parent), `hear(word=None)` (the parent's next
line, which must be `word` if given), `until(condition)`, `let_pass(seconds)`, `turns()` for tasks,
`descriptors()` (how many are open, once no connection is), the modules os, sys, threading, time,
signal, logging, ctypes and holdfast, and the keyword arguments as names. One in which the word
"async" occurs has asyncio and holdfast.asyncio, too; others start without in half the time.
`start_child` is the fixture of this module; it kills what is left at the end of the test. Children
die with the test process.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.halting import halt
from tests.support.waiting import BOUND

_ROOT = Path(__file__).resolve().parents[2]
_END = "<end>"

_PRELUDE = """\
import ctypes, logging, os, signal, sys, threading, time
import holdfast
_parent_lines = sys.stdin

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())  # one write: signals may interrupt

def hear(word=None):
    line = _parent_lines.readline().rstrip("\\n")
    if not line:
        os._exit(97)
    assert word in (None, line), f"expected {word!r}, heard {line!r}"
    return line

def until(condition):
    while not condition():
        let_pass(0.005)

def let_pass(seconds):
    time.sleep(seconds)

def descriptors():
    until(lambda: not any("socket:" in link for link in _open_files()))
    return len(_open_files())

def _open_files():
    links = []
    for number in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            pass  # that of the list itself
    return links

"""
_FOR_TASKS = """\
import asyncio
import holdfast.asyncio

async def turns():
    await asyncio.sleep(0)

"""


class Child:
    """A running program; made by `start_child`."""

    def __init__(
        self,
        program: str,
        names: dict[str, Any],
        python: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> None:
        values = "".join(f"{name} = {value!r}\n" for name, value in names.items())
        beginning = _PRELUDE + (_FOR_TASKS if "async" in program else "")
        text = beginning + values + textwrap.dedent(program)
        self._stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            [sys.executable, "-u", *python, "-c", text],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(_ROOT), *sys.path]),
                **(environment or {}),
            },
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def errors(self) -> str:
        """What it wrote to its standard error so far."""
        self._stderr.seek(0)
        return self._stderr.read()

    @property
    def said_something(self) -> bool:
        """Whether it said a line that was not read yet."""
        return not self._lines.empty()

    def next_line(self, within: float = BOUND) -> str:
        """The next line that it says."""
        try:
            line = self._lines.get(timeout=within)
        except queue.Empty:
            raise AssertionError(f"silent for {within} s; stderr: {self.errors}") from None
        assert line != _END, f"it ended ({self._process.wait()}); stderr: {self.errors}"
        return line

    def expect(self, word: str, within: float = BOUND) -> list[str]:
        """Read its next line, which must begin with `word`; returns the other words."""
        first, *others = self.next_line(within).split()
        assert first == word, f"expected {word!r}, it said {[first, *others]}: {self.errors}"
        return others

    def send(self, line: str) -> None:
        """Give it its next line."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def pause(self) -> None:
        halt(self._process.pid)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill -9, and wait until it is gone."""
        self._process.kill()
        self._process.wait(BOUND)

    def wait(self, within: float = BOUND) -> int:
        """Its exit code, once it has ended."""
        try:
            return self._process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {within} s: {self.errors}") from None

    def close(self) -> None:
        """Kill it if it still runs, and release what belongs to it."""
        self.kill()
        self._reader.join(BOUND)
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            _close(stream)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(_END)


def _close(stream: Any) -> None:
    try:
        stream.close()
    except BrokenPipeError:
        return


StartChild = Callable[..., Child]


@pytest.fixture
def start_child() -> Iterator[StartChild]:
    """Start a child process: `start_child(program, python=(), environment=None, **names)`."""
    children: list[Child] = []

    def start(
        program: str,
        *,
        python: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
        **names: Any,
    ) -> Child:
        children.append(Child(program, names, python, environment))
        return children[-1]

    yield start
    for child in children:
        child.close()
