"""Permits counted by Java and Python together."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import holdfast
from tests.interop.conftest import SOON, Report
from tests.interop.java_objects import JavaSemaphore
from tests.interop.java_peer import JavaPeer
from tests.interop.wire import SemaphoreKey
from tests.support.servers import Server
from tests.support.waiting import eventually

ROUNDS = 5


@pytest.fixture
def key(redis_server: Server, name: str) -> SemaphoreKey:
    return SemaphoreKey(redis_server, name)


@pytest.fixture
def java(peer: JavaPeer, name: str) -> JavaSemaphore:
    return peer.semaphore(name)


@pytest.fixture
def mine(python: holdfast.Client, name: str) -> Any:
    return python.semaphore(name)


def test_one_counter_for_both_languages(java: JavaSemaphore, mine: Any, key: SemaphoreKey) -> None:
    assert java.try_set_permits(6)
    assert not mine.try_set_permits(9)
    assert mine.acquire(permits=2)
    assert java.available_permits() == mine.available_permits() == key.permits() == 4
    assert java.try_acquire(3)
    assert not mine.acquire(blocking=False, permits=2)
    assert mine.acquire(blocking=False)
    assert not java.try_acquire()
    mine.release(5)
    assert java.available_permits() == 5
    java.release(2)
    assert mine.available_permits() == 7
    mine.add_permits(-10)
    assert java.available_permits() == -3
    assert not java.try_acquire()
    java.add_permits(5)
    assert mine.drain_permits() == 2
    assert java.available_permits() == 0
    mine.release(4)
    assert java.drain_permits() == 4
    assert mine.delete()
    assert not java.delete()
    assert mine.try_set_permits(1)
    assert not java.try_set_permits(2)
    assert java.try_acquire()


def test_what_an_acquire_in_python_sets_up_wakes_java(
    java: JavaSemaphore, python: holdfast.Client, name: str, key: SemaphoreKey
) -> None:
    asleep = key.next_waiter_sleeps(java)
    waiting = java.begin_acquire()
    eventually(asleep)
    throttle = python.semaphore(name, permits=3)
    assert throttle.acquire(blocking=False)
    assert waiting.result(SOON)
    eventually(lambda: java.available_permits() == throttle.available_permits() == 1)


def test_a_release_in_java_wakes_python(
    java: JavaSemaphore,
    mine: Any,
    python_thread: ThreadPoolExecutor,
    key: SemaphoreKey,
    report: Report,
) -> None:
    assert java.try_set_permits(0)

    def wait_for_it() -> int:
        assert mine.acquire(timeout=20)
        return time.monotonic_ns()

    seconds = []
    for _ in range(ROUNDS):
        asleep = key.next_waiter_sleeps()
        woken = python_thread.submit(wait_for_it)
        eventually(asleep)
        released = java.release()
        seconds.append((woken.result(20) - released.began) / 1e9)
        eventually(key.no_client_waits)
    report.wake_ups("Java's release() to Python's acquire()", seconds)
    assert key.permits() == 0


def test_a_release_in_python_wakes_java(
    java: JavaSemaphore, mine: Any, key: SemaphoreKey, report: Report
) -> None:
    assert mine.try_set_permits(0)
    seconds = []
    for _ in range(ROUNDS):
        asleep = key.next_waiter_sleeps(java)
        waiting = java.begin_acquire()
        eventually(asleep)
        released = time.monotonic_ns()
        mine.release()
        seconds.append((waiting.result(20).ended - released) / 1e9)
        eventually(key.no_client_waits)
    report.wake_ups("Python's release() to Java's acquire()", seconds)
    assert key.permits() == 0


MORE: dict[str, Callable[[Any], Any]] = {
    "try_set_permits": lambda semaphore: semaphore.try_set_permits(2),
    "add_permits": lambda semaphore: semaphore.add_permits(2),
    "release": lambda semaphore: semaphore.release(2),
}


@pytest.mark.parametrize("more", MORE.values(), ids=MORE.keys())
@pytest.mark.parametrize("giver", ["java", "python"])
def test_what_makes_permits_in_one_language_wakes_the_other_and_several_are_taken_at_once(
    java: JavaSemaphore,
    mine: Any,
    python_thread: ThreadPoolExecutor,
    *,
    key: SemaphoreKey,
    giver: str,
    more: Callable[[Any], Any],
) -> None:
    """A waiter waits before the permits are set."""
    asleep = key.next_waiter_sleeps(java if giver == "python" else None)
    waiting: Future[Any] = (
        java.begin_acquire(2)
        if giver == "python"
        else python_thread.submit(mine.acquire, timeout=20, permits=2)
    )
    eventually(asleep)
    more(mine if giver == "python" else java)
    waiting.result(SOON)
    assert key.permits() == 0


@pytest.mark.parametrize("giver", ["java", "python"])
def test_as_many_go_on_as_there_are_permits_whatever_their_language(
    peer: JavaPeer, mine: Any, key: SemaphoreKey, giver: str
) -> None:
    release = peer.semaphore(key.name).release if giver == "java" else mine.release
    assert mine.try_set_permits(0)
    in_java = [peer.semaphore(key.name, thread) for thread in ("t2", "t3", "t4")]
    with ThreadPoolExecutor(max_workers=3) as threads:
        before = key.tries()
        waiting: list[Future[Any]] = [semaphore.begin_acquire() for semaphore in in_java]
        waiting += [threads.submit(mine.acquire, timeout=20) for _ in range(3)]
        eventually(lambda: key.clients_wait(2))
        eventually(lambda: all(semaphore.sleeps() for semaphore in in_java))
        eventually(lambda: key.tries() >= before + 2 * len(in_java) + 3)
        for done in (2, 6):
            release(2 if done == 2 else 4)
            eventually(lambda: sum(each.done() for each in waiting) == done)  # noqa: B023
            assert key.permits() == 0
    eventually(key.no_client_waits)


def test_a_vain_wait_in_both_languages_leaves_nothing(
    java: JavaSemaphore, mine: Any, key: SemaphoreKey
) -> None:
    assert mine.try_set_permits(1)
    assert not mine.acquire(timeout=0.1, permits=2)
    assert not java.try_acquire(2, wait=0.1)
    eventually(key.no_client_waits)
    assert key.permits() == 1
