"""Several permits at once, and their number, in Java and Python; and releases of semaphores."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import holdfast
from tests.interop.conftest import LONG, SOON
from tests.interop.java_objects import JavaError, JavaPermitSemaphore
from tests.interop.java_peer import JavaPeer
from tests.interop.wire import PermitSemaphoreKey, SemaphoreKey
from tests.support.recording import Messages
from tests.support.servers import Server
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning"),
    # 3.17.6 has none of these calls.
    pytest.mark.parametrize("release", ["4.7.0"], indirect=True, scope="session"),
]

UNKNOWN = "0123456789abcdef" * 2


@pytest.fixture
def key(redis_server: Server, name: str) -> PermitSemaphoreKey:
    return PermitSemaphoreKey(redis_server, name)


@pytest.fixture
def java(peer: JavaPeer, name: str) -> JavaPermitSemaphore:
    return peer.permit_semaphore(name)


@pytest.fixture
def mine(python: holdfast.Client, name: str) -> Any:
    return python.permit_semaphore(name)


@pytest.fixture
def messages(redis_server: Server, name: str) -> Iterator[Messages]:
    with redis_server.listening(f"redisson_sc:{{{name}}}") as messages:
        yield messages


def test_permits_of_java_are_released_in_python(
    java: JavaPermitSemaphore, mine: Any, key: PermitSemaphoreKey
) -> None:
    assert java.try_set_permits(5)
    ids = java.acquire_many(3, lease=LONG)
    assert set(key.given()) == set(ids)
    assert mine.acquire_many(3, blocking=False) is None
    with pytest.raises(holdfast.NotOwnedError):
        mine.release_many([*ids, UNKNOWN])
    assert set(key.given()) == set(ids)
    mine.release_many(ids)
    assert key.given() == {}
    assert java.available_permits() == 5
    with pytest.raises(JavaError):
        java.release_many(ids)


@pytest.mark.parametrize("lease", [None, LONG], ids=["renewed", "leased"])
def test_permits_of_python_are_released_in_java(
    java: JavaPermitSemaphore, mine: Any, key: PermitSemaphoreKey, lease: float | None
) -> None:
    assert mine.try_set_permits(5)
    ids = mine.acquire_many(3, lease=lease)
    assert set(key.given()) == set(ids)
    assert java.try_acquire_many(3, wait=0, lease=LONG) == []
    with pytest.raises(JavaError):
        java.release_many([*ids, UNKNOWN])
    assert set(key.given()) == set(ids)
    java.release_many(ids)
    assert key.given() == {}
    assert mine.available_permits() == 5
    with pytest.raises(holdfast.NotOwnedError):
        mine.release_many(ids)


def test_both_publish_the_same(java: JavaPermitSemaphore, mine: Any, messages: Messages) -> None:
    assert java.try_set_permits(5)
    assert messages.received() == [b"5"]
    told = []
    for one in (java, mine):
        one.set_permits(7)
        one.set_permits(7)
        one.add_permits(2)
        one.add_permits(-4)
        one.set_permits(5)
        one.release_many(one.acquire_many(3, lease=LONG))
        told.append(messages.received())
    assert told[0] == told[1]


def test_a_release_in_java_wakes_a_waiter_for_many_in_python(
    java: JavaPermitSemaphore, mine: Any, python_thread: ThreadPoolExecutor, key: PermitSemaphoreKey
) -> None:
    assert java.try_set_permits(3)
    held = java.acquire_many(3, lease=LONG)
    asleep = key.next_waiter_sleeps()
    waiting = python_thread.submit(mine.acquire_many, 2, timeout=20)
    eventually(asleep)
    java.release(held[0])
    java.release_many(held[1:])
    ids = waiting.result(SOON)
    assert set(key.given()) == set(ids)
    mine.release_many(ids)


def test_a_release_in_python_wakes_a_waiter_for_many_in_java(
    java: JavaPermitSemaphore, mine: Any, key: PermitSemaphoreKey
) -> None:
    assert mine.try_set_permits(3)
    held = mine.acquire_many(3)
    asleep = key.next_waiter_sleeps(java)
    waiting = java.begin_acquire_many(2, lease=LONG)
    eventually(asleep)
    mine.release_many(held)
    ids = waiting.result(SOON).value
    assert set(key.given()) == set(ids)
    mine.release_many(ids)


@pytest.mark.parametrize("setter", ["java", "python"])
def test_the_number_means_the_same_in_both(
    java: JavaPermitSemaphore, mine: Any, setter: str
) -> None:
    one = java if setter == "java" else mine
    one.set_permits(4)
    java.acquire_many(2, lease=LONG)
    one.add_permits(3)
    for each in (java, mine):
        numbers = (each.permits(), each.acquired_permits(), each.available_permits())
        assert numbers == (7, 2, 5)
    one.set_permits(1)
    assert (java.available_permits(), mine.available_permits()) == (-1, -1)


def test_the_lease_means_the_same_in_both(java: JavaPermitSemaphore, mine: Any) -> None:
    assert mine.try_set_permits(2)
    leased, endless = mine.acquire(lease=LONG), java.acquire()
    for left in (java.lease_time(leased), mine.lease_left(leased)):
        assert LONG - 10 < left <= LONG
    assert java.lease_time(endless) == -1
    assert mine.lease_left(endless) == math.inf
    mine.release(leased)
    assert mine.lease_left(leased) is None
    mine.release(endless)


def test_a_semaphore_that_is_not_there_gets_no_permits(
    peer: JavaPeer, python: holdfast.Client, redis_server: Server, name: str, messages: Messages
) -> None:
    key = SemaphoreKey(redis_server, name)
    told = []
    for one in (peer.semaphore(name), python.semaphore(name)):
        assert not one.release_if_exists(2)
        assert key.permits() is None
        one.add_permits(1)
        messages.received()
        assert one.release_if_exists(2)
        assert key.permits() == 3
        told.append(messages.received())
        one.delete()
    assert told == [[b"3"], [b"3"]]
