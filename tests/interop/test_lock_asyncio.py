"""The asyncio client and Java on a lock of each kind."""

from __future__ import annotations

import asyncio
import time

import pytest

import holdfast
import holdfast.asyncio
from tests.interop.conftest import LONG, Report, until
from tests.interop.java_objects import ILLEGAL_MONITOR_STATE, JavaError
from tests.interop.java_peer import JavaPeer
from tests.interop.lock_kinds import SharedLock

ROUNDS = 5


async def test_java_and_a_task_exclude_each_other(
    peer: JavaPeer, client: holdfast.asyncio.Client, shared: SharedLock
) -> None:
    java, mine = shared.java(peer), shared.python(client, lease=LONG)
    java.lock(lease=LONG)
    assert await mine.locked()
    assert not await mine.owned()
    assert not await mine.acquire(blocking=False)
    assert not await mine.acquire(timeout=0.1)
    with pytest.raises(holdfast.NotOwnedError):
        await mine.release()
    java.unlock()
    async with mine, mine:
        assert list(shared.key.holds().values()) == [2]
        assert not java.try_lock()
        assert LONG - 10 < java.remain_time_to_live() <= shared.most_left(LONG, holds=2)
        with pytest.raises(JavaError) as caught:
            java.unlock()
        assert caught.value.java_class == ILLEGAL_MONITOR_STATE
    assert java.try_lock(wait=0, lease=LONG)
    java.unlock()


async def test_a_release_in_java_wakes_a_task(
    peer: JavaPeer, client: holdfast.asyncio.Client, shared: SharedLock, report: Report
) -> None:
    java, mine = shared.java(peer), shared.python(client)

    async def wait_for_it() -> int:
        assert await mine.acquire(timeout=10, lease=LONG)
        woken = time.monotonic_ns()
        await mine.release()
        return woken

    seconds = []
    for _ in range(ROUNDS):
        java.lock(lease=LONG)
        asleep = shared.key.next_waiter_sleeps()
        waiter = asyncio.create_task(wait_for_it())
        await until(asleep)
        released = java.unlock()
        seconds.append((await waiter - released.began) / 1e9)
        await until(shared.key.no_client_waits)
    report.wake_ups("Java's unlock() to a task's acquire()", seconds)


async def test_a_release_of_a_task_wakes_java(
    peer: JavaPeer, client: holdfast.asyncio.Client, shared: SharedLock, report: Report
) -> None:
    java, mine = shared.java(peer), shared.python(client)
    seconds = []
    for _ in range(ROUNDS):
        assert await mine.acquire(lease=LONG)
        asleep = shared.key.next_waiter_sleeps(java)
        waiting = java.begin_lock(lease=LONG)
        await until(asleep)
        released = time.monotonic_ns()
        await mine.release()
        answer = await asyncio.wait_for(asyncio.wrap_future(waiting), 10)
        seconds.append((answer.ended - released) / 1e9)
        java.unlock()
        await until(shared.key.no_client_waits)
    report.wake_ups("a task's release() to Java's lock()", seconds)


async def test_a_cancelled_wait_for_java_leaves_nothing(
    peer: JavaPeer, client: holdfast.asyncio.Client, shared: SharedLock
) -> None:
    java = shared.java(peer)
    java.lock(lease=LONG)
    asleep = shared.key.next_waiter_sleeps()
    waiter = asyncio.create_task(shared.python(client).acquire())
    await until(asleep)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    await until(shared.key.no_client_waits)
    java.unlock()
    assert shared.key.holds() == {}
    assert java.try_lock(wait=0, lease=LONG)
    java.unlock()


async def test_a_forced_unlock_in_java_cancels_the_body(
    peer: JavaPeer, client: holdfast.asyncio.Client, shared: SharedLock
) -> None:
    mine = shared.python(client, cancel_on_lost=True)

    async def body() -> None:
        async with mine:
            assert shared.java(peer).force_unlock()
            await asyncio.wait_for(asyncio.Event().wait(), 10)

    with pytest.raises(holdfast.LockLostError):
        await body()
    assert shared.key.holds() == {}
