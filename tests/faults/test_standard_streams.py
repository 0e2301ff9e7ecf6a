"""Programs that run without standard streams: the numbers 0, 1 and 2 stay theirs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from tests.faults.conftest import NAME
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")

PRELUDE = """
import contextlib, os, sys
import holdfast
URL, NAME, REPORT = sys.argv[1], sys.argv[2], int(sys.argv[3])

def say(*words):
    os.write(REPORT, (" ".join(map(str, words)) + "\\n").encode())

def print_much():
    for number in (0, 1, 2):
        with contextlib.suppress(OSError):
            os.write(number, b"a line that the program prints" * 2000)

def standard():
    return [number for number in (0, 1, 2) if os.path.exists(f"/proc/self/fd/{number}")]
"""

GUARDED = """
client = holdfast.Client(URL, guard=True, lease=120)
lock = client.lock(NAME)
lock.acquire()
say("standard", *standard())
print_much()
for _ in range(3):
    lock.acquire()
    print_much()
    lock.release()
say("guard", client._core.guard_pid)
os.read(REPORT_BACK, 1)
"""

TASKS = """
import asyncio
loop = asyncio.new_event_loop()  # whose descriptors are above the standard ones
import holdfast.asyncio

async def work():
    for number in (0, 1, 2):
        with contextlib.suppress(OSError):
            os.close(number)
    async with holdfast.asyncio.Client(URL) as client:
        async with client.lock(NAME):
            print_much()
            say("standard", *standard())
            first = client.lock("another")
            await first.acquire()
            print_much()
            await first.release()

loop.run_until_complete(work())
say("done")
"""


class Streamless:
    """A program whose standard streams are closed; what it says comes by another descriptor."""

    def __init__(self, program: str, server: Server, *, closed: bool) -> None:
        read, write = os.pipe()
        back, self._back = os.pipe()
        text = f"{PRELUDE}REPORT_BACK = {back}\n{program}"
        arguments = [sys.executable, "-c", text, server.url, NAME, str(write)]
        if closed:
            arguments = ["/bin/sh", "-c", 'exec "$@" >&- 2>&- <&-', "sh", *arguments]
        paths = os.pathsep.join(sys.path)
        self.process = subprocess.Popen(
            arguments, pass_fds=(write, back), env={**os.environ, "PYTHONPATH": paths}
        )
        os.close(write)
        os.close(back)
        self._lines = os.fdopen(read, encoding="utf-8")

    def expect(self, word: str) -> list[str]:
        first, *rest = self._lines.readline().split() or ["<end>"]
        assert first == word, f"expected {word!r}, heard {first!r}"
        return rest

    def end(self) -> None:
        self.process.kill()
        self.process.wait(BOUND)
        self._lines.close()
        os.close(self._back)


@pytest.fixture
def guarded(server: Server) -> Iterator[Streamless]:
    program = Streamless(GUARDED, server, closed=True)
    yield program
    program.end()


def test_what_it_prints_reaches_no_descriptor_of_the_library(
    guarded: Streamless, server: Server
) -> None:
    """process-limits: nor the memory that its guard reads, which frees the lock after its death."""
    assert guarded.expect("standard") == []
    [guard] = guarded.expect("guard")
    assert guard != "0"
    streams = [Path(f"/proc/{guard}/fd/{number}") for number in (0, 1, 2)]
    assert {str(stream.readlink()) for stream in streams} == {"/dev/null"}
    assert server.inspect.hvals(NAME) == [b"1"]
    guarded.process.send_signal(signal.SIGKILL)
    with holdfast.Client(server.url, lease=60) as next_owner:
        assert next_owner.lock(NAME).acquire(timeout=BOUND)
        next_owner.lock(NAME).release()
    eventually(lambda: not Path(f"/proc/{guard}").exists())


def test_nor_those_of_an_event_loop(server: Server) -> None:
    """process-limits: the streams are closed while the loop runs."""
    program = Streamless(TASKS, server, closed=False)
    try:
        assert program.expect("standard") == []
        program.expect("done")
        assert program.process.wait(BOUND) == 0
    finally:
        program.end()
