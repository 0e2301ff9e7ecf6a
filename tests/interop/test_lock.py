"""One lock, held and awaited by Java and Python in turn; leases too long to explain a wake-up."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import holdfast
from tests.interop.conftest import Report
from tests.interop.java_peer import ILLEGAL_MONITOR_STATE, JavaError, JavaPeer
from tests.interop.soak import one_more
from tests.interop.wire import LockKey
from tests.support.waiting import Stopwatch, eventually

LONG = 60.0
SOON = 2.0
ROUNDS = 10
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
    peer: JavaPeer, python: holdfast.Client, key: LockKey
) -> None:
    java, mine = peer.lock(key.name), python.lock(key.name)
    for count in (1, 2, 3):
        java.lock(lease=LONG)
        assert key.holds() == {java.owner: count}
    assert mine.locked()
    assert not mine.owned()
    assert mine.hold_count() == 0
    left = mine.ttl()
    assert left is not None
    assert LONG - 10 < left <= LONG
    with pytest.raises(holdfast.NotOwnedError):
        mine.release()
    for count in (3, 2, 1):
        assert key.holds() == {java.owner: count}
        assert not mine.acquire(blocking=False)
        java.unlock()
    assert not mine.locked()
    assert mine.ttl() is None
    assert mine.acquire(blocking=False)
    mine.release()


def test_java_sees_the_nested_holds_of_python(
    peer: JavaPeer, python: holdfast.Client, key: LockKey
) -> None:
    java, mine = peer.lock(key.name), python.lock(key.name)
    for _ in range(3):
        assert mine.acquire(lease=LONG)
    (owner, count), *others = key.holds().items()
    client, _, number = owner.rpartition(":")
    assert (client, number.isdecimal(), count, others) == (python.id, True, 3, [])
    assert java.is_locked()
    assert not java.is_held_by_current_thread()
    assert java.hold_count() == 0
    assert LONG - 10 < java.remain_time_to_live() <= LONG
    with pytest.raises(JavaError) as caught:
        java.unlock()
    assert caught.value.java_class == ILLEGAL_MONITOR_STATE
    for count in (3, 2, 1):
        assert key.holds() == {owner: count}
        assert not java.try_lock()
        mine.release()
    assert not java.is_locked()
    assert java.try_lock()
    java.unlock()


def test_a_wait_for_the_other_ends_in_time_and_leaves_nothing(
    peer: JavaPeer, python: holdfast.Client, key: LockKey
) -> None:
    java, mine = peer.lock(key.name), python.lock(key.name)
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
    eventually(key.nobody_waits)
    assert key.holds() == {}


def test_a_release_in_java_wakes_python(
    peer: JavaPeer,
    python: holdfast.Client,
    python_thread: ThreadPoolExecutor,
    key: LockKey,
    report: Report,
) -> None:
    java, mine = peer.lock(key.name), python.lock(key.name)

    def wait_for_it() -> int:
        assert mine.acquire(timeout=10, lease=LONG)
        woken = time.monotonic_ns()
        mine.release()
        return woken

    seconds = []
    for _ in range(ROUNDS):
        java.lock(lease=LONG)
        asleep = key.next_waiter_sleeps()
        woken = python_thread.submit(wait_for_it)
        eventually(asleep)
        released = java.unlock()
        seconds.append((woken.result(10) - released.began) / 1e9)
        eventually(key.nobody_waits)
    report.waits("Java's unlock() to Python's acquire()", seconds)
    assert max(seconds) < SOON


def test_a_release_in_python_wakes_java(
    peer: JavaPeer, python: holdfast.Client, key: LockKey, report: Report
) -> None:
    java, mine = peer.lock(key.name), python.lock(key.name)
    seconds = []
    for _ in range(ROUNDS):
        assert mine.acquire(lease=LONG)
        asleep = key.next_waiter_sleeps()
        waiting = java.begin_lock(lease=LONG)
        eventually(asleep)
        released = time.monotonic_ns()
        mine.release()
        seconds.append((waiting.result(10).ended - released) / 1e9)
        java.unlock()
        eventually(key.nobody_waits)
    report.waits("Python's release() to Java's lock()", seconds)
    assert max(seconds) < SOON


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_a_name_of_any_spelling_is_one_lock(
    peer: JavaPeer,
    python: holdfast.Client,
    python_thread: ThreadPoolExecutor,
    key: LockKey,
    spelling: str,
) -> None:
    spelled = LockKey(key.server, f"{key.name} {spelling}")
    java, mine = peer.lock(spelled.name), python.lock(spelled.name)
    java.lock(lease=LONG)
    asleep = spelled.next_waiter_sleeps()
    taken = python_thread.submit(lambda: mine.acquire(timeout=10, lease=LONG))
    eventually(asleep)
    java.unlock()
    assert taken.result(SOON)
    eventually(spelled.nobody_waits)
    asleep = spelled.next_waiter_sleeps()
    waiting = java.begin_lock(lease=LONG)
    eventually(asleep)
    python_thread.submit(mine.release).result(SOON)
    waiting.result(SOON)
    java.unlock()


def test_one_release_after_the_other_reaches_every_waiter(
    peer: JavaPeer, python: holdfast.Client, key: LockKey
) -> None:
    counter = f"{key.name} counter"

    def turn() -> None:
        with python.lock(key.name, wait=20, lease=LONG):
            one_more(key.server.inspect, counter)

    holder = peer.lock(key.name)
    holder.lock(lease=LONG)
    turns: list[Future[Any]] = [
        peer.lock(key.name, thread).begin_soak(counter, seconds=30, pause=0, iterations=1)
        for thread in ("t2", "t3", "t4")
    ]
    with ThreadPoolExecutor(max_workers=3) as threads:
        turns += [threads.submit(turn) for _ in range(3)]
        eventually(lambda: key.waiting_clients() >= len((peer, python)))
        watch = Stopwatch()
        holder.unlock()
        for waiter in turns:
            waiter.result(20)
    assert watch.seconds < SOON
    assert key.server.inspect.get(counter) == b"6"
    assert key.holds() == {}
