"""The programs: ``python -m benchmarks.guard.programs ROLE URL``, which talk by lines.

``victims``: forks a program for each line, ``hold`` or ``pairs``, which is to be killed. ``holds``,
``stopped``, ``forks`` and ``exec`` live on with a lock named after them: the first two idle, one
with children that come and go, one as another program.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable

import holdfast

LONG = 600.0


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def victims(url: str) -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            victim(url, line.strip())
        os.waitpid(child, 0)
        say("ended", child)


def victim(url: str, way: str) -> None:
    lock = holdfast.Client(url, guard=True).lock("victim")
    lock.acquire()
    say("held", os.getpid())
    while way == "pairs":
        lock.release()
        lock.acquire()
    threading.Event().wait()


def _living(url: str, name: str) -> holdfast.Client:
    client = holdfast.Client(url, guard=True)
    client.lock(name).acquire(lease=LONG)
    say("held", client._core.guard_pid)
    return client


def holds(url: str) -> None:
    with contextlib.closing(_living(url, "holds")):
        sys.stdin.read()


def stopped(url: str) -> None:
    with contextlib.closing(_living(url, "stopped")):
        sys.stdin.read()


def forks(url: str) -> None:
    """Children that use the client, and such that do not."""
    client = _living(url, "forks")
    for number in range(1_000_000):
        child = os.fork()
        if child == 0:
            if number % 2:
                client.lock("child").acquire(timeout=1.0)
            os._exit(0)
        os.waitpid(child, 0)
        time.sleep(0.02)


def exec_(url: str) -> None:
    with contextlib.closing(_living(url, "exec")):
        os.execlp("sleep", "sleep", "86400")


ROLES: dict[str, Callable[[str], None]] = {
    "victims": victims,
    "holds": holds,
    "stopped": stopped,
    "forks": forks,
    "exec": exec_,
}

if __name__ == "__main__":
    ROLES[sys.argv[1]](sys.argv[2])
