"""A spin lock beside an ordinary lock of its name; between spin locks test_lock.py."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import holdfast
from tests.interop.conftest import LONG, Report
from tests.interop.java_peer import JavaPeer
from tests.interop.wire import LockKey
from tests.support.waiting import eventually

ROUNDS = 3
FREE: dict[str, Callable[[Any], Any]] = {
    "release": lambda lock: lock.release(),
    "force_release": lambda lock: lock.force_release(),
}


@pytest.mark.parametrize("free", FREE.values(), ids=FREE.keys())
def test_what_frees_a_spin_lock_in_python_wakes_an_ordinary_waiter_of_java(
    peer: JavaPeer,
    python: holdfast.Client,
    key: LockKey,
    free: Callable[[Any], Any],
    report: Report,
) -> None:
    """A spin lock of Java would let it sleep."""
    seconds = []
    java = peer.lock(key.name)
    for _ in range(ROUNDS):
        mine = python.spin_lock(key.name)
        assert mine.acquire(lease=LONG)
        asleep = key.next_waiter_sleeps(java)
        waiting = java.begin_lock(lease=LONG)
        eventually(asleep)
        released = time.monotonic_ns()
        free(mine)
        seconds.append((waiting.result(10).ended - released) / 1e9)
        java.unlock()
        eventually(key.no_client_waits)
    report.wake_ups("Python's spin lock to Java's lock()", seconds)


@pytest.mark.parametrize("kind", ["lock", "spin"])
def test_python_spins_until_java_lets_go(
    peer: JavaPeer,
    python: holdfast.Client,
    python_thread: ThreadPoolExecutor,
    *,
    key: LockKey,
    kind: str,
    report: Report,
) -> None:
    java, mine = peer.lock(key.name, kind=kind), python.spin_lock(key.name)

    def spin() -> int:
        assert mine.acquire(timeout=10, lease=LONG)
        ended = time.monotonic_ns()
        mine.release()
        return ended

    seconds = []
    for _ in range(ROUNDS):
        java.lock(lease=LONG)
        tries = key.tries()
        woken = python_thread.submit(spin)
        eventually(lambda: key.tries() > tries + 3)  # noqa: B023 (over before it changes)
        assert key.no_client_waits()
        released = java.unlock()
        seconds.append((woken.result(10) - released.began) / 1e9)
    report.wake_ups(f"Java's {kind} to Python's spin lock", seconds)
