"""The other processes of the demo, which talk with the main process line by line.

``python -m holdfast._demo.child add NAME FILE THREADS ROUNDS``: threads that add 1 to the number in
a file, a number of times, each time under the lock. ``… hold NAME LEASE [guard]``: hold the
lock, with a guard if that is said, until a line with the seconds to wait before the release. The
server is the one of ``HOLDFAST_URL``.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import Client, Lock, LockLostError

if TYPE_CHECKING:
    from collections.abc import Callable


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def add(name: str, path: str, threads: str, rounds: str) -> None:
    """Say ``ready``; add after the next line; say ``added``."""
    file = Path(path)
    with Client() as client:
        client.ping()
        lock = client.lock(name)
        workers = [
            threading.Thread(target=_add, args=(lock, file, int(rounds)))
            for _ in range(int(threads))
        ]
        say("ready")
        sys.stdin.readline()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    say("added")


def _add(lock: Lock, file: Path, rounds: int) -> None:
    me = str(os.getpid())
    for _ in range(rounds):
        with lock:
            # Read, add, write: where two threads did this at a time, one addition would be lost.
            number, changes, last = file.read_text().split()
            file.write_text(f"{int(number) + 1} {int(changes) + (last != me)} {me}")


def hold(name: str, lease: str, guard: str = "") -> None:
    """Say ``held``, ``lost`` (in ``on_lost``) and, after a line, ``released`` or ``refused``.

    The main process reports a loss: a record in the log as well would appear between its lines.
    """
    logging.getLogger("holdfast").addHandler(logging.NullHandler())
    with Client(lease=float(lease), guard=bool(guard)) as client:
        lock = client.lock(name, on_lost=lambda _: say("lost", time.monotonic()))
        lock.acquire()
        say("held")
        time.sleep(float(sys.stdin.readline() or 0))
        at = time.monotonic()
        try:
            lock.release()
        except LockLostError as error:
            say("refused", error)
        else:
            say("released", at)


ROLES: dict[str, Callable[..., None]] = {"add": add, "hold": hold}

if __name__ == "__main__":
    ROLES[sys.argv[1]](*sys.argv[2:])
