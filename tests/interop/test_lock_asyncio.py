"""The asyncio client and Java on one lock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

import holdfast
import holdfast.asyncio
from tests.interop.conftest import Report
from tests.interop.java_peer import ILLEGAL_MONITOR_STATE, JavaError, JavaPeer
from tests.interop.wire import LockKey
from tests.support.waiting import eventually

LONG = 60.0
SOON = 2.0
ROUNDS = 10


@pytest_asyncio.fixture
async def client(key: LockKey) -> AsyncIterator[holdfast.asyncio.Client]:
    """An asyncio client with a short lease of the watchdog, on the loop of the test."""
    async with holdfast.asyncio.Client(key.server.url, lease=3.0) as opened:
        yield opened


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition while the loop goes on."""
    await asyncio.to_thread(eventually, condition)


async def test_java_and_a_task_exclude_each_other(
    peer: JavaPeer, client: holdfast.asyncio.Client, key: LockKey
) -> None:
    java, mine = peer.lock(key.name), client.lock(key.name, lease=LONG)
    java.lock(lease=LONG)
    assert await mine.locked()
    assert not await mine.owned()
    assert not await mine.acquire(blocking=False)
    assert not await mine.acquire(timeout=0.1)
    with pytest.raises(holdfast.NotOwnedError):
        await mine.release()
    java.unlock()
    async with mine, mine:
        assert list(key.holds().values()) == [2]
        assert not java.try_lock()
        assert LONG - 10 < java.remain_time_to_live() <= LONG
        with pytest.raises(JavaError) as caught:
            java.unlock()
        assert caught.value.java_class == ILLEGAL_MONITOR_STATE
    assert java.try_lock(wait=0, lease=LONG)
    java.unlock()


async def test_a_release_in_java_wakes_a_task(
    peer: JavaPeer, client: holdfast.asyncio.Client, key: LockKey, report: Report
) -> None:
    java, mine = peer.lock(key.name), client.lock(key.name)

    async def wait_for_it() -> int:
        assert await mine.acquire(timeout=10, lease=LONG)
        woken = time.monotonic_ns()
        await mine.release()
        return woken

    seconds = []
    for _ in range(ROUNDS):
        java.lock(lease=LONG)
        asleep = key.next_waiter_sleeps()
        waiter = asyncio.create_task(wait_for_it())
        await until(asleep)
        released = java.unlock()
        seconds.append((await waiter - released.began) / 1e9)
        await until(key.nobody_waits)
    report.waits("Java's unlock() to a task's acquire()", seconds)
    assert max(seconds) < SOON


async def test_a_release_of_a_task_wakes_java(
    peer: JavaPeer, client: holdfast.asyncio.Client, key: LockKey, report: Report
) -> None:
    java, mine = peer.lock(key.name), client.lock(key.name)
    seconds = []
    for _ in range(ROUNDS):
        assert await mine.acquire(lease=LONG)
        asleep = key.next_waiter_sleeps()
        waiting = java.begin_lock(lease=LONG)
        await until(asleep)
        released = time.monotonic_ns()
        await mine.release()
        answer = await asyncio.wait_for(asyncio.wrap_future(waiting), 10)
        seconds.append((answer.ended - released) / 1e9)
        java.unlock()
        await until(key.nobody_waits)
    report.waits("a task's release() to Java's lock()", seconds)
    assert max(seconds) < SOON


async def test_a_cancelled_wait_for_java_leaves_nothing(
    peer: JavaPeer, client: holdfast.asyncio.Client, key: LockKey
) -> None:
    java = peer.lock(key.name)
    java.lock(lease=LONG)
    asleep = key.next_waiter_sleeps()
    waiter = asyncio.create_task(client.lock(key.name).acquire())
    await until(asleep)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    await until(key.nobody_waits)
    java.unlock()
    assert key.holds() == {}
    assert java.try_lock(wait=0, lease=LONG)
    java.unlock()


async def test_a_forced_unlock_in_java_cancels_the_body(
    peer: JavaPeer, client: holdfast.asyncio.Client, key: LockKey
) -> None:
    mine = client.lock(key.name, cancel_on_lost=True)

    async def body() -> None:
        async with mine:
            assert peer.lock(key.name).force_unlock()
            await asyncio.wait_for(asyncio.Event().wait(), 10)

    with pytest.raises(holdfast.LockLostError):
        await body()
    assert key.holds() == {}
