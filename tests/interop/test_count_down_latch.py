"""A latch that Java and Python count down and wait for."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import holdfast
from tests.interop.conftest import SOON, Report
from tests.interop.java_objects import JavaLatch
from tests.interop.java_peer import JavaPeer
from tests.interop.wire import LatchKey
from tests.support.servers import Server
from tests.support.waiting import eventually

ROUNDS = 5


@pytest.fixture
def key(redis_server: Server, name: str) -> LatchKey:
    return LatchKey(redis_server, name)


@pytest.fixture
def java(peer: JavaPeer, name: str) -> JavaLatch:
    return peer.latch(name)


@pytest.fixture
def mine(python: holdfast.Client, name: str) -> Any:
    return python.count_down_latch(name)


def test_one_count_for_both_languages(java: JavaLatch, mine: Any, key: LatchKey) -> None:
    assert java.await_(0)
    assert mine.wait(0)
    assert java.try_set_count(3)
    assert not mine.try_set_count(5)
    assert not java.await_(0)
    assert not mine.wait(0)
    mine.count_down()
    assert java.count() == mine.count() == key.count() == 2
    java.count_down()
    assert java.count() == mine.count() == key.count() == 1
    mine.count_down()
    assert key.count() is None
    assert java.count() == mine.count() == 0
    assert java.await_(0)
    assert mine.wait(0)
    mine.count_down()
    assert key.count() is None
    assert mine.try_set_count(1)
    assert not java.try_set_count(2)
    assert java.delete()
    assert not mine.delete()


def test_the_last_count_down_in_java_wakes_python(
    java: JavaLatch,
    mine: Any,
    python_thread: ThreadPoolExecutor,
    key: LatchKey,
    report: Report,
) -> None:
    def wait_for_it() -> int:
        assert mine.wait(20)
        return time.monotonic_ns()

    seconds = []
    for _ in range(ROUNDS):
        assert mine.try_set_count(2)
        asleep = key.next_waiter_sleeps()
        woken = python_thread.submit(wait_for_it)
        eventually(asleep)
        java.count_down()
        assert not woken.done()
        opened = java.count_down()
        seconds.append((woken.result(20) - opened.began) / 1e9)
        eventually(key.no_client_waits)
    report.wake_ups("Java's countDown() to Python's wait()", seconds)


def test_the_last_count_down_in_python_wakes_java(
    java: JavaLatch, mine: Any, key: LatchKey, report: Report
) -> None:
    seconds = []
    for _ in range(ROUNDS):
        assert java.try_set_count(2)
        asleep = key.next_waiter_sleeps(java)
        waiting = java.begin_await(20)
        eventually(asleep)
        mine.count_down()
        assert not waiting.done()
        opened = time.monotonic_ns()
        mine.count_down()
        answer = waiting.result(20)
        assert answer.value
        seconds.append((answer.ended - opened) / 1e9)
        eventually(key.no_client_waits)
    report.wake_ups("Python's count_down() to Java's await()", seconds)


DELETE: dict[str, Callable[[JavaLatch, Any], bool]] = {
    "java": lambda java, mine: java.delete(),
    "python": lambda java, mine: bool(mine.delete()),
}


@pytest.mark.parametrize("delete", DELETE.values(), ids=DELETE.keys())
def test_the_deletion_of_the_latch_wakes_python(
    java: JavaLatch,
    mine: Any,
    python_thread: ThreadPoolExecutor,
    key: LatchKey,
    delete: Callable[[JavaLatch, Any], bool],
) -> None:
    """Redisson's own waiters sleep on."""
    assert java.try_set_count(2)
    asleep = key.next_waiter_sleeps()
    woken = python_thread.submit(mine.wait, 20)
    eventually(asleep)
    assert delete(java, mine)
    assert woken.result(SOON)
    eventually(key.no_client_waits)


@pytest.mark.parametrize("who", ["java", "python"])
def test_all_waiters_of_both_languages_go_on_at_once(
    peer: JavaPeer, mine: Any, key: LatchKey, who: str, report: Report
) -> None:
    def wait_for_it() -> int:
        assert mine.wait(20)
        return time.monotonic_ns()

    assert mine.try_set_count(1)
    in_java = [peer.latch(key.name, thread) for thread in ("t2", "t3", "t4")]
    with ThreadPoolExecutor(max_workers=3) as threads:
        before = key.tries()
        of_java = [latch.begin_await(20) for latch in in_java]
        of_python: list[Future[int]] = [threads.submit(wait_for_it) for _ in range(3)]
        eventually(lambda: key.clients_wait(2))
        eventually(lambda: all(latch.sleeps() for latch in in_java))
        eventually(lambda: key.tries() >= before + 2 * len(in_java) + 3)
        opened = time.monotonic_ns()
        if who == "java":
            peer.latch(key.name).count_down()
        else:
            mine.count_down()
        woken = [answer.result(20).ended for answer in of_java]
        woken += [answer.result(20) for answer in of_python]
    report.wake_ups(f"a latch opened in {who}", [(end - opened) / 1e9 for end in woken])
    eventually(key.no_client_waits)


def test_a_latch_that_opens_and_closes_again_releases_all_waiters(
    java: JavaLatch, mine: Any, python_thread: ThreadPoolExecutor, key: LatchKey
) -> None:
    for _ in range(ROUNDS):
        assert java.try_set_count(1)
        asleep = key.next_waiter_sleeps()
        woken = python_thread.submit(mine.wait, 20)
        eventually(asleep)
        java.count_down()
        assert woken.result(SOON)
        eventually(key.no_client_waits)


def test_a_vain_wait_in_both_languages_leaves_nothing(
    java: JavaLatch, mine: Any, key: LatchKey
) -> None:
    assert mine.try_set_count(1)
    assert not mine.wait(0.1)
    assert not java.await_(0.1)
    eventually(key.no_client_waits)
    assert mine.count() == 1
