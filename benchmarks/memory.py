"""``python -m benchmarks.memory``: the bytes that one held lock takes in its client's process.

What malloc has given out, as mallinfo2() of glibc says, is read with few and with many locks held
by one thread, and the difference divided by the locks between them.  So nothing that a client takes
once is in it.  CPython takes its small objects from elsewhere; another run, in which it takes them
from malloc, too, adds them.  More bytes in the engine than its bound allows fail.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import time

import holdfast
from benchmarks.server import Server

FEW, MANY = 10_000, 110_000
MOST_IN_THE_ENGINE = 785  # runs of one build gave 761 to 775
LEASE = 60.0  # the renewals are no part of it
BOUND = 60.0


class _MallInfo(ctypes.Structure):
    """mallinfo2 of <malloc.h>."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd",
            "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip


def allocated_bytes() -> int:
    """What malloc has given out and not got back, with what it adds to each piece."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _MallInfo
    found = mallinfo2()
    return int(found.uordblks) + int(found.hblkhd)


def kept_bytes() -> int:
    """The least of a second's readings: without the commands that are on their way."""

    def read() -> int:
        time.sleep(0.05)
        return allocated_bytes()

    return min(read() for _ in range(20))


def settle(client: holdfast.Client, locks: int) -> None:
    """Wait until the server tracks them all."""
    end = time.monotonic() + BOUND
    while client.stats().tracked < locks:
        if time.monotonic() > end:
            raise TimeoutError("the server does not track the holds")
        time.sleep(0.05)


def hold(url: str, uses: int, keeps: bool, many: int) -> float:
    """Bytes for one lock; ``uses``: how often it was acquired before, ``keeps``: its object."""
    client = holdfast.Client(url, lease=LEASE)
    kept: list[holdfast.Lock | None] = [None] * many
    before, held = 0, 0
    for until in (FEW, many):
        for number in range(held, until):
            lock = client.lock(f"benchmark:orders:{number:08}")
            for _ in range(uses):
                lock.acquire()
                lock.release()
            lock.acquire()
            if keeps:
                kept[number] = lock
        held = until
        settle(client, held)
        if held == FEW:
            before = kept_bytes()
    return (kept_bytes() - before) / (many - FEW)


def run(port: int, many: int, *words: str, python: str = "pymalloc") -> float:
    """The bytes of one process."""
    command = [sys.executable, "-m", "benchmarks.memory", "--many", str(many), "--of", str(port)]
    environment = {**os.environ, "PYTHONMALLOC": python}
    found = subprocess.run([*command, *words], check=True, env=environment, stdout=subprocess.PIPE)
    return float(found.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--many", type=int, default=MANY, help="locks held at the end")
    parser.add_argument("--server", default="redis-server", help="the server's program")
    parser.add_argument("--of", type=int, help=argparse.SUPPRESS)  # a port: this is the client
    parser.add_argument("--keep", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--uses", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.of:
        url = f"redis://127.0.0.1:{options.of}/0"
        print(hold(url, options.uses, options.keep, options.many))
        return 0
    found: list[float] = []
    with Server(options.server) as server:
        for words, python in (
            ([], "pymalloc"),
            (["--keep"], "pymalloc"),
            (["--keep", "--uses", "2"], "pymalloc"),
            (["--keep"], "malloc"),
        ):
            server.clear()
            found.append(run(server.port, options.many, *words, python=python))
    held, kept, used, whole = found
    print(f"a hold                                {held:7.0f} bytes")
    print(f"its lock object, in the engine        {kept - held:7.0f}")
    print(f"what that keeps once it is used again {used - kept:7.0f}")
    print(f"its lock object, in Python            {whole - kept:7.0f}")
    print(f"in the engine {kept:.0f}, at most {MOST_IN_THE_ENGINE} are allowed")
    return 0 if kept <= MOST_IN_THE_ENGINE else 1


if __name__ == "__main__":
    raise SystemExit(main())
