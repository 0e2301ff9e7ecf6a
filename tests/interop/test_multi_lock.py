"""Locks over several locks in both languages, with a member in common."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

import holdfast
from tests.interop.conftest import LONG, Report
from tests.interop.java_objects import JavaLock
from tests.interop.java_peer import JavaPeer
from tests.interop.wire import LockKey
from tests.support.waiting import eventually

ROUNDS = 3


@pytest.fixture
def keys(key: LockKey) -> list[LockKey]:
    """Three members: the first of Java's alone, the second of both, the third of Python's alone."""
    return [replace(key, name=f"{key.name} {member}") for member in ("a", "b", "c")]


@pytest.fixture
def java(peer: JavaPeer, keys: list[LockKey]) -> JavaLock:
    return peer.multi_lock(*(key.name for key in keys[:2]))


@pytest.fixture
def mine(python: holdfast.Client, keys: list[LockKey]) -> Any:
    return python.multi_lock(*(python.lock(key.name) for key in keys[1:]))


def holders(keys: list[LockKey]) -> list[int]:
    return [len(key.holds()) for key in keys]


def test_one_common_member_excludes_and_nothing_is_left_of_a_vain_try(
    java: JavaLock, mine: Any, keys: list[LockKey]
) -> None:
    java.lock(lease=LONG)
    assert not mine.acquire(blocking=False)
    assert not mine.acquire(timeout=0.1)
    assert holders(keys) == [1, 1, 0]
    java.unlock()
    assert mine.acquire(timeout=1, lease=LONG)
    assert not java.try_lock()
    assert holders(keys) == [0, 1, 1]
    for key in keys[1:]:
        assert LONG - 10 < key.seconds_left() <= LONG
    mine.release()
    assert holders(keys) == [0, 0, 0]


def test_the_lease_of_java_is_seen_in_python(
    java: JavaLock, python: holdfast.Client, keys: list[LockKey]
) -> None:
    assert java.try_lock(wait=1, lease=LONG)
    left = [python.lock(key.name).ttl() or 0 for key in keys[:2]]
    assert LONG - 10 < min(left) <= max(left) <= LONG
    java.unlock()


def test_a_release_in_java_wakes_python(
    java: JavaLock,
    mine: Any,
    python_thread: ThreadPoolExecutor,
    keys: list[LockKey],
    report: Report,
) -> None:
    def wait_for_it() -> int:
        assert mine.acquire(timeout=20, lease=LONG)
        woken = time.monotonic_ns()
        mine.release()
        return woken

    seconds = []
    for _ in range(ROUNDS):
        java.lock(lease=LONG)
        asleep = keys[1].next_waiter_sleeps()
        woken = python_thread.submit(wait_for_it)
        eventually(asleep)
        released = java.unlock()
        seconds.append((woken.result(20) - released.began) / 1e9)
        eventually(keys[1].no_client_waits)
    report.wake_ups("Java's multi lock to Python's", seconds)


def test_a_release_in_python_wakes_java(
    java: JavaLock, mine: Any, keys: list[LockKey], report: Report
) -> None:
    seconds = []
    for _ in range(ROUNDS):
        assert mine.acquire(lease=LONG)
        asleep = keys[1].next_waiter_sleeps(java)
        waiting = java.begin_try_lock(wait=20, lease=LONG)
        eventually(asleep)
        released = time.monotonic_ns()
        mine.release()
        answer = waiting.result(20)
        assert answer.value
        seconds.append((answer.ended - released) / 1e9)
        java.unlock()
        eventually(keys[1].no_client_waits)
    report.wake_ups("Python's multi lock to Java's", seconds)


def test_a_member_that_java_took_by_force_is_reported_and_the_others_are_released(
    peer: JavaPeer, mine: Any, keys: list[LockKey]
) -> None:
    assert mine.acquire(lease=LONG)
    assert peer.lock(keys[1].name).force_unlock()
    with pytest.raises(holdfast.LockLostError):
        mine.release()
    assert holders(keys) == [0, 0, 0]
    assert peer.lock(keys[2].name).try_lock()
    peer.lock(keys[2].name).unlock()
