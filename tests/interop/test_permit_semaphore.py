"""Permits with an end, given out by Java and Python."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import holdfast
from tests.interop.conftest import LONG, SOON, Report
from tests.interop.java_objects import JavaError, JavaPermitSemaphore
from tests.interop.java_peer import JavaPeer
from tests.interop.wire import PermitSemaphoreKey
from tests.support.servers import Server
from tests.support.waiting import eventually, stays

# A leased permit that Java has released, or holds, is still one that Python has not given back.
pytestmark = pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning")

ROUNDS = 5
SHORT = 1.5
"""A watchdog's lease: renewed twice a second."""


@pytest.fixture
def key(redis_server: Server, name: str) -> PermitSemaphoreKey:
    return PermitSemaphoreKey(redis_server, name)


@pytest.fixture
def java(peer: JavaPeer, name: str) -> JavaPermitSemaphore:
    return peer.permit_semaphore(name)


@pytest.fixture
def mine(python: holdfast.Client, name: str) -> Any:
    return python.permit_semaphore(name)


def seconds_left(key: PermitSemaphoreKey, permit: str) -> float:
    return key.given()[permit] / 1000 - time.time()


def test_permits_of_java_are_released_and_extended_in_python(
    java: JavaPermitSemaphore, mine: Any, key: PermitSemaphoreKey
) -> None:
    assert java.try_set_permits(2)
    assert not mine.try_set_permits(3)
    first, second = java.acquire(lease=LONG), java.acquire(lease=LONG)
    assert set(key.given()) == {first, second}
    assert mine.acquire(blocking=False) is None
    assert mine.extend(first, 2 * LONG)
    assert 2 * LONG - 10 < seconds_left(key, first) <= 2 * LONG
    mine.release(first)
    assert mine.try_release(second)
    assert not mine.try_release(second)
    assert key.given() == {}
    assert java.available_permits() == mine.available_permits() == 2
    with pytest.raises(JavaError):
        java.release(first)
    with pytest.raises(holdfast.NotOwnedError):
        mine.release(first)
    assert not mine.extend(first, LONG)


def test_what_an_acquire_in_python_sets_up_is_the_number_in_java(
    java: JavaPermitSemaphore, python: holdfast.Client, name: str, key: PermitSemaphoreKey
) -> None:
    throttle = python.permit_semaphore(name, permits=3)
    mine = throttle.acquire(lease=LONG)
    assert not java.try_set_permits(5)
    theirs = java.acquire(lease=LONG)
    assert set(key.given()) == {mine, theirs}
    assert java.available_permits() == throttle.available_permits() == 1
    throttle.release(theirs)
    java.release(mine)
    assert java.available_permits() == throttle.available_permits() == 3


def test_permits_of_python_are_released_and_extended_in_java(
    java: JavaPermitSemaphore, mine: Any, key: PermitSemaphoreKey
) -> None:
    assert mine.try_set_permits(2)
    first, second = mine.acquire(lease=LONG), mine.acquire(lease=LONG)
    assert all(re.fullmatch("[0-9a-f]{32}", permit) for permit in (first, second))
    assert set(key.given()) == {first, second}
    assert LONG - 10 < seconds_left(key, first) <= LONG
    assert java.try_acquire() is None
    assert java.update_lease_time(first, 2 * LONG)
    assert 2 * LONG - 10 < seconds_left(key, first) <= 2 * LONG
    java.release(first)
    assert java.try_release(second)
    assert key.given() == {}
    assert mine.available_permits() == java.available_permits() == 2
    with pytest.raises(holdfast.NotOwnedError):
        mine.release(second)
    assert not mine.try_release(second)


def test_a_release_in_java_wakes_python(
    java: JavaPermitSemaphore,
    mine: Any,
    python_thread: ThreadPoolExecutor,
    key: PermitSemaphoreKey,
    report: Report,
) -> None:
    assert java.try_set_permits(1)
    seconds = []

    def wait_for_it() -> tuple[str, int]:
        return mine.acquire(timeout=20, lease=LONG), time.monotonic_ns()

    for _ in range(ROUNDS):
        permit = java.acquire(lease=LONG)
        asleep = key.next_waiter_sleeps()
        woken = python_thread.submit(wait_for_it)
        eventually(asleep)
        released = java.release(permit)
        permit, ended = woken.result(20)
        seconds.append((ended - released.began) / 1e9)
        java.release(permit)
        eventually(key.no_client_waits)
    report.wake_ups("Java's release() to Python's acquire()", seconds)


def test_a_release_in_python_wakes_java(
    java: JavaPermitSemaphore, mine: Any, key: PermitSemaphoreKey, report: Report
) -> None:
    assert mine.try_set_permits(1)
    seconds = []
    for _ in range(ROUNDS):
        permit = mine.acquire(lease=LONG)
        asleep = key.next_waiter_sleeps(java)
        waiting = java.begin_acquire(lease=LONG)
        eventually(asleep)
        released = time.monotonic_ns()
        mine.release(permit)
        answer = waiting.result(20)
        seconds.append((answer.ended - released) / 1e9)
        mine.release(answer.value)
        eventually(key.no_client_waits)
    report.wake_ups("Python's release() to Java's acquire()", seconds)


@pytest.mark.realtime
def test_an_expired_permit_of_java_comes_back_to_python(
    java: JavaPermitSemaphore, mine: Any, key: PermitSemaphoreKey, report: Report
) -> None:
    assert java.try_set_permits(1)
    permit = java.acquire(lease=1)
    end = key.given()[permit] / 1000
    taken = mine.acquire(timeout=10, lease=LONG)
    late = time.time() - end
    assert taken is not None
    report.waits("the end of Java's permit to Python's acquire()", [late])
    assert 0 <= late < SOON / 4
    assert not mine.try_release(permit)
    assert set(key.given()) == {taken}
    java.release(taken)


@pytest.mark.realtime
def test_an_expired_permit_of_python_comes_back_to_java(
    java: JavaPermitSemaphore, mine: Any, key: PermitSemaphoreKey, report: Report
) -> None:
    assert mine.try_set_permits(1)
    permit = mine.acquire(lease=1)
    end = key.given()[permit] / 1000
    taken = java.begin_try_acquire(wait=10, lease=LONG).result(20).value
    late = time.time() - end
    assert taken is not None
    report.waits("the end of Python's permit to Java's tryAcquire()", [late])
    assert 0 <= late < SOON / 4
    with pytest.raises(holdfast.NotOwnedError):
        mine.release(permit)
    assert set(key.given()) == {taken}
    mine.release(taken)


@pytest.mark.realtime
def test_a_renewed_permit_of_python_is_kept_from_java(
    java: JavaPermitSemaphore, key: PermitSemaphoreKey
) -> None:
    assert java.try_set_permits(1)
    with holdfast.Client(key.server.url, lease=SHORT) as client:
        mine = client.permit_semaphore(key.name)
        permit = mine.acquire()
        assert permit is not None
        stays(lambda: java.try_acquire() is None, during=2 * SHORT)
        assert 0 < seconds_left(key, permit) <= SHORT
        java.release(permit)
        assert not mine.try_release(permit)
    assert java.available_permits() == 1


def test_a_permit_without_an_end_of_java_stays_until_python_releases_it(
    java: JavaPermitSemaphore, mine: Any, key: PermitSemaphoreKey
) -> None:
    assert java.try_set_permits(1)
    permit = java.acquire()
    assert key.given() == {permit: 922337203685477}
    assert mine.acquire(timeout=0.1) is None
    mine.release(permit)
    eventually(key.no_client_waits)
    assert java.available_permits() == 1


@pytest.mark.parametrize("giver", ["java", "python"])
def test_what_sets_the_permits_in_one_language_wakes_the_other(
    java: JavaPermitSemaphore,
    mine: Any,
    python_thread: ThreadPoolExecutor,
    key: PermitSemaphoreKey,
    giver: str,
) -> None:
    asleep = key.next_waiter_sleeps(java if giver == "python" else None)
    if giver == "python":
        in_java = java.begin_acquire(lease=LONG)
        eventually(asleep)
        assert mine.try_set_permits(1)
        permit = in_java.result(SOON).value
    else:
        in_python = python_thread.submit(mine.acquire, timeout=20, lease=LONG)
        eventually(asleep)
        assert java.try_set_permits(1)
        permit = in_python.result(SOON)
    assert set(key.given()) == {permit}
    assert java.delete() if giver == "java" else mine.delete()
    assert not key.exists()
