"""A majority of independent servers in both languages."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

import holdfast
from tests.interop.conftest import LONG, SOON, Report
from tests.interop.java_objects import JavaLock
from tests.interop.java_peer import JavaPeer
from tests.interop.wire import LockKey
from tests.support.servers import Server
from tests.support.waiting import eventually


@pytest.fixture
def keys(red_servers: list[Server], name: str) -> list[LockKey]:
    """The member on each server."""
    return [LockKey(server, name) for server in red_servers]


@pytest.fixture
def java(red_peer: JavaPeer, keys: list[LockKey]) -> JavaLock:
    return red_peer.red_lock(*(key.name for key in keys))


@pytest.fixture
def mine(keys: list[LockKey]) -> Iterator[Any]:
    with ExitStack() as clients:
        opened = [clients.enter_context(holdfast.Client(key.server.url)) for key in keys]
        for client in opened:
            client.ping()
        yield holdfast.RedLock(*(client.lock(keys[0].name) for client in opened))


def holders(keys: list[LockKey]) -> list[int]:
    return [len(key.holds()) for key in keys]


def test_a_majority_of_java_keeps_python_out(
    java: JavaLock, mine: Any, keys: list[LockKey]
) -> None:
    assert java.try_lock(wait=1, lease=LONG)
    assert holders(keys) == [1, 1, 1]
    assert not mine.acquire(blocking=False)
    assert not mine.acquire(timeout=0.2)
    assert mine.validity is None
    java.unlock()
    assert mine.acquire(timeout=1, lease=LONG)
    mine.release()
    eventually(lambda: holders(keys) == [0, 0, 0])


def test_a_majority_of_python_keeps_java_out(
    java: JavaLock, mine: Any, keys: list[LockKey]
) -> None:
    assert mine.acquire(timeout=1, lease=LONG)
    assert LONG - 10 < mine.validity < LONG
    eventually(lambda: holders(keys) == [1, 1, 1])
    assert not java.try_lock()
    assert not java.try_lock(wait=0.2, lease=LONG)
    assert holders(keys) == [1, 1, 1]
    mine.release()
    eventually(lambda: holders(keys) == [0, 0, 0])
    assert java.try_lock(wait=1, lease=LONG)
    java.unlock()


def test_a_minority_taken_by_java_does_not_keep_python_out(
    red_peer: JavaPeer, mine: Any, keys: list[LockKey]
) -> None:
    plain = red_peer.lock(keys[0].name, "t2")
    plain.lock(lease=LONG)
    assert mine.acquire(timeout=1, lease=LONG)
    assert keys[0].holds() == {plain.owner: 1}
    assert holders(keys[1:]) == [1, 1]
    mine.release()
    assert keys[0].holds() == {plain.owner: 1}
    plain.unlock()


def test_a_release_in_java_lets_a_waiting_python_in(
    java: JavaLock,
    mine: Any,
    python_thread: ThreadPoolExecutor,
    keys: list[LockKey],
    report: Report,
) -> None:
    """Rounds with pauses in between, hence no message to measure."""
    assert java.try_lock(wait=1, lease=LONG)
    tries = keys[0].tries()

    def wait_for_it() -> int:
        assert mine.acquire(timeout=20, lease=LONG)
        woken = time.monotonic_ns()
        mine.release()
        return woken

    woken = python_thread.submit(wait_for_it)
    eventually(lambda: keys[0].tries() >= tries + 2)
    assert not woken.done()
    released = java.unlock()
    seconds = (woken.result(20) - released.began) / 1e9
    report.waits("Java's red lock to Python's", [seconds])
    assert seconds < SOON


def test_a_release_in_python_wakes_java(
    java: JavaLock, mine: Any, keys: list[LockKey], report: Report
) -> None:
    assert mine.acquire(timeout=1, lease=LONG)
    waiting = java.begin_try_lock(wait=20, lease=LONG)
    eventually(java.sleeps)
    released = time.monotonic_ns()
    mine.release()
    answer = waiting.result(20)
    assert answer.value
    seconds = (answer.ended - released) / 1e9
    report.waits("Python's red lock to Java's", [seconds])
    assert seconds < SOON
    java.unlock()
    eventually(lambda: holders(keys) == [0, 0, 0])


def test_python_goes_on_without_a_minority_and_java_stays_out(
    java: JavaLock, mine: Any, keys: list[LockKey]
) -> None:
    hanging = keys[2].server
    hanging.pause()
    try:
        assert mine.acquire(timeout=5, lease=LONG)
    finally:
        hanging.resume()
    assert holders(keys[:2]) == [1, 1]
    assert not java.try_lock(wait=0.2, lease=LONG)
    mine.release()
    eventually(lambda: holders(keys) == [0, 0, 0])


def test_what_java_holds_is_not_free_while_a_minority_hangs(
    java: JavaLock, mine: Any, keys: list[LockKey]
) -> None:
    assert java.try_lock(wait=1, lease=LONG)
    hanging = keys[0].server
    hanging.pause()
    try:
        assert not mine.acquire(blocking=False)
    finally:
        hanging.resume()
    java.unlock()
    eventually(lambda: holders(keys) == [0, 0, 0])
