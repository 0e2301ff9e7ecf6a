"""A lock of each kind, held and awaited by Java and Python; no lease explains a wake-up."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

import holdfast
from tests.interop.conftest import LONG, SOON, Report
from tests.interop.java_objects import ILLEGAL_MONITOR_STATE, JavaError
from tests.interop.java_peer import JavaPeer
from tests.interop.lock_kinds import SharedLock
from tests.interop.soak import one_more
from tests.support.waiting import Stopwatch, eventually

ROUNDS = 5
SPELLINGS = {
    "plain": "plain",
    "tag": "a{tag}b",
    "all-tag": "{tag}",
    "open-brace": "open{brace",
    "braces-reversed": "}{",
    "lines": "two\nlines",
    "not-ascii": "naïve Ω 鎖",
    "nul": "nul\0",
}


def test_python_sees_the_nested_holds_of_java(
    peer: JavaPeer, python: holdfast.Client, shared: SharedLock
) -> None:
    java, mine = shared.java(peer), shared.python(python)
    for count in (1, 2, 3):
        java.lock(lease=LONG)
        assert shared.key.holds() == {java.owner: count}
    assert mine.locked()
    assert not mine.owned()
    assert mine.hold_count() == 0
    left = mine.ttl()
    assert left is not None
    assert LONG - 10 < left <= shared.most_left(LONG, holds=3)
    with pytest.raises(holdfast.NotOwnedError):
        mine.release()
    for count in (3, 2, 1):
        assert shared.key.holds() == {java.owner: count}
        assert not mine.acquire(blocking=False)
        java.unlock()
    assert not mine.locked()
    assert mine.ttl() is None
    assert mine.acquire(blocking=False)
    mine.release()


def test_java_sees_the_nested_holds_of_python(
    peer: JavaPeer, python: holdfast.Client, shared: SharedLock
) -> None:
    java, mine = shared.java(peer), shared.python(python)
    for _ in range(3):
        assert mine.acquire(lease=LONG)
    (owner, count), *others = shared.key.holds().items()
    client, _, number = owner.rpartition(":")
    assert (client, number.isdecimal(), count, others) == (python.id, True, 3, [])
    assert java.is_locked()
    assert not java.is_held_by_current_thread()
    assert java.hold_count() == 0
    assert LONG - 10 < java.remain_time_to_live() <= shared.most_left(LONG, holds=3)
    with pytest.raises(JavaError) as caught:
        java.unlock()
    assert caught.value.java_class == ILLEGAL_MONITOR_STATE
    for count in (3, 2, 1):
        assert shared.key.holds() == {owner: count}
        assert not java.try_lock()
        mine.release()
    assert not java.is_locked()
    assert java.try_lock()
    java.unlock()


def test_a_wait_for_the_other_ends_in_time_and_leaves_nothing(
    peer: JavaPeer, python: holdfast.Client, shared: SharedLock
) -> None:
    java, mine = shared.java(peer), shared.python(python)
    java.lock(lease=LONG)
    watch = Stopwatch()
    assert not mine.acquire(timeout=0.3)
    assert 0.3 <= watch.seconds < SOON
    java.unlock()
    assert mine.acquire(lease=LONG)
    watch = Stopwatch()
    assert not java.try_lock(wait=0.3)
    assert 0.3 <= watch.seconds < SOON
    mine.release()
    eventually(shared.key.no_client_waits)
    assert shared.key.holds() == {}


def test_a_release_in_java_wakes_python(
    peer: JavaPeer,
    python: holdfast.Client,
    python_thread: ThreadPoolExecutor,
    shared: SharedLock,
    report: Report,
) -> None:
    java, mine = shared.java(peer), shared.python(python)

    def wait_for_it() -> int:
        assert mine.acquire(timeout=10, lease=LONG)
        woken = time.monotonic_ns()
        mine.release()
        return woken

    seconds = []
    for _ in range(ROUNDS):
        java.lock(lease=LONG)
        asleep = shared.key.next_waiter_sleeps()
        woken = python_thread.submit(wait_for_it)
        eventually(asleep)
        released = java.unlock()
        seconds.append((woken.result(10) - released.began) / 1e9)
        eventually(shared.key.no_client_waits)
    report.wake_ups("Java's unlock() to Python's acquire()", seconds)


def test_a_release_in_python_wakes_java(
    peer: JavaPeer, python: holdfast.Client, shared: SharedLock, report: Report
) -> None:
    java, mine = shared.java(peer), shared.python(python)
    seconds = []
    for _ in range(ROUNDS):
        assert mine.acquire(lease=LONG)
        asleep = shared.key.next_waiter_sleeps(java)
        waiting = java.begin_lock(lease=LONG)
        eventually(asleep)
        released = time.monotonic_ns()
        mine.release()
        seconds.append((waiting.result(10).ended - released) / 1e9)
        java.unlock()
        eventually(shared.key.no_client_waits)
    report.wake_ups("Python's release() to Java's lock()", seconds)


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_a_name_of_any_spelling_is_one_lock(
    peer: JavaPeer,
    python: holdfast.Client,
    python_thread: ThreadPoolExecutor,
    shared: SharedLock,
    spelling: str,
) -> None:
    key = replace(shared.key, name=f"{shared.key.name} {spelling}")
    spelled = replace(shared, key=key)
    java, mine = spelled.java(peer), spelled.python(python)
    java.lock(lease=LONG)
    asleep = key.next_waiter_sleeps()
    taken = python_thread.submit(lambda: mine.acquire(timeout=10, lease=LONG))
    eventually(asleep)
    java.unlock()
    assert taken.result(SOON)
    eventually(key.no_client_waits)
    asleep = key.next_waiter_sleeps(java)
    waiting = java.begin_lock(lease=LONG)
    eventually(asleep)
    python_thread.submit(mine.release).result(SOON)
    waiting.result(SOON)
    java.unlock()


def test_one_release_after_the_other_reaches_every_waiter(
    peer: JavaPeer, python: holdfast.Client, shared: SharedLock
) -> None:
    counter = f"{shared.key.name} counter"

    def turn() -> None:
        with shared.python(python, wait=20, lease=LONG):
            one_more(shared.key.server.inspect, counter)

    holder = shared.java(peer)
    holder.lock(lease=LONG)
    turns: list[Future[Any]] = [
        shared.java(peer, thread).begin_soak(counter, seconds=30, pause=0, iterations=1)
        for thread in ("t2", "t3", "t4")
    ]
    with ThreadPoolExecutor(max_workers=3) as threads:
        turns += [threads.submit(turn) for _ in range(3)]
        eventually(lambda: shared.key.clients_wait(len((peer, python))))
        watch = Stopwatch()
        holder.unlock()
        for waiter in turns:
            waiter.result(20)
    assert watch.seconds < SOON
    assert shared.key.server.inspect.get(counter) == b"6"
    assert shared.key.holds() == {}
