"""What is a kind's own between Java and the asyncio client; test_lock_asyncio.py has the rest."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import pytest

import holdfast.asyncio
from tests.interop.conftest import LONG, SOON, Report, until
from tests.interop.java_peer import JavaPeer
from tests.interop.test_fenced_lock import WITH_TOKENS
from tests.interop.wire import (
    FairKey,
    LatchKey,
    LockKey,
    PermitSemaphoreKey,
    ReadWriteKey,
    SemaphoreKey,
)
from tests.support.servers import Server


async def test_a_queue_of_java_and_tasks_is_served_in_its_order(
    peer: JavaPeer, client: holdfast.asyncio.Client, redis_server: Server, name: str
) -> None:
    key, order = FairKey(redis_server, name), []

    async def in_python(place: int) -> None:
        async with client.fair_lock(name, lease=LONG):
            order.append(place)

    async def in_java(place: int) -> None:
        lock = peer.lock(name, f"t{place}", "fair")
        await asyncio.wrap_future(lock.begin_lock(lease=LONG))
        order.append(place)
        await asyncio.to_thread(lock.unlock)

    holder = peer.lock(name, kind="fair")
    holder.lock(lease=LONG)
    waiting = []
    for place in range(1, 7):
        turn = in_java(place + 1) if place % 2 else in_python(place + 1)
        waiting.append(asyncio.create_task(turn))
        await until(partial(key.has_queued, place))
    holder.unlock()
    await asyncio.wait_for(asyncio.gather(*waiting), 10)
    assert order == [2, 3, 4, 5, 6, 7]
    await until(key.no_client_waits)


async def test_a_cancelled_task_in_the_queue_blocks_no_waiter(
    peer: JavaPeer, client: holdfast.asyncio.Client, redis_server: Server, name: str
) -> None:
    key = FairKey(redis_server, name)
    holder, behind = peer.lock(name, kind="fair"), peer.lock(name, "t2", "fair")
    holder.lock(lease=LONG)
    ahead = asyncio.create_task(client.fair_lock(name).acquire())
    await until(partial(key.has_queued, 1))
    grant = behind.begin_lock(lease=LONG)
    await until(partial(key.has_queued, 2))
    await until(behind.sleeps)
    ahead.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ahead
    await until(partial(key.has_queued, 1))
    holder.unlock()
    await asyncio.wait_for(asyncio.wrap_future(grant), SOON)
    behind.unlock()
    await until(key.no_client_waits)


async def test_tasks_and_java_read_together_and_a_downgrade_lets_java_in(
    peer: JavaPeer, client: holdfast.asyncio.Client, redis_server: Server, name: str
) -> None:
    key, mine = ReadWriteKey(redis_server, name), client.read_write_lock(name)
    reader = peer.lock(name, kind="read")
    assert await mine.write.acquire(lease=LONG)
    assert await mine.read.acquire(lease=LONG)
    asleep = key.next_waiter_sleeps(reader)
    waiting = reader.begin_lock(lease=LONG)
    await until(asleep)
    await mine.write.release()
    await asyncio.wait_for(asyncio.wrap_future(waiting), SOON)
    assert len(key.readers()) == 2
    reader.unlock()
    assert await mine.read.owned()
    assert not peer.lock(name, "t2", "write").try_lock()
    await mine.read.release()
    assert not key.exists()


async def test_the_release_of_a_writer_of_java_wakes_all_tasks_that_want_to_read(
    peer: JavaPeer,
    client: holdfast.asyncio.Client,
    redis_server: Server,
    name: str,
    report: Report,
) -> None:
    key, writer = ReadWriteKey(redis_server, name), peer.lock(name, kind="write")

    async def read() -> int:
        async with client.read_write_lock(name, lease=LONG).read:
            return time.monotonic_ns()

    writer.lock(lease=LONG)
    tries = key.tries()
    tasks = [asyncio.create_task(read()) for _ in range(20)]
    await until(lambda: key.clients_wait(1) and key.tries() >= tries + len(tasks))
    released = writer.unlock()
    woken = await asyncio.gather(*tasks)
    report.wake_ups("a writer of Java to 20 tasks", [(end - released.began) / 1e9 for end in woken])
    await until(key.no_client_waits)
    assert not key.exists()


@pytest.mark.parametrize("release", WITH_TOKENS, indirect=True, scope="session")
async def test_tokens_grow_over_tasks_and_java(
    peer: JavaPeer, client: holdfast.asyncio.Client, key: LockKey
) -> None:
    java, mine, tokens = peer.fenced_lock(key.name), client.fenced_lock(key.name), []
    for _ in range(3):
        async with mine:
            tokens.append(mine.token)
        tokens.append(java.lock_and_get_token())
        java.unlock()
    assert None not in tokens
    assert tokens == sorted(set(tokens))


async def test_a_lock_of_several_waits_for_java_in_a_task(
    peer: JavaPeer, client: holdfast.asyncio.Client, key: LockKey
) -> None:
    java = peer.lock(key.name)
    mine = client.multi_lock(client.lock(f"{key.name} beside it"), client.lock(key.name))
    java.lock(lease=LONG)
    assert not await mine.acquire(blocking=False)
    asleep = key.next_waiter_sleeps()
    waiter = asyncio.create_task(mine.acquire(timeout=20, lease=LONG))
    await until(asleep)
    java.unlock()
    assert await asyncio.wait_for(waiter, SOON)
    assert not java.try_lock()
    assert await mine.force_release()


async def test_permits_pass_between_java_and_tasks(
    peer: JavaPeer, client: holdfast.asyncio.Client, redis_server: Server, name: str
) -> None:
    key, java, mine = SemaphoreKey(redis_server, name), peer.semaphore(name), client.semaphore(name)
    assert await mine.try_set_permits(0)
    asleep = key.next_waiter_sleeps()
    waiter = asyncio.create_task(mine.acquire(timeout=20))
    await until(asleep)
    java.release()
    assert await asyncio.wait_for(waiter, SOON)
    await until(key.no_client_waits)
    asleep = key.next_waiter_sleeps(java)
    waiting = java.begin_acquire(2)
    await until(asleep)
    await mine.release(2)
    await asyncio.wait_for(asyncio.wrap_future(waiting), SOON)
    assert key.permits() == 0


async def test_a_cancelled_task_takes_no_permit_from_java(
    peer: JavaPeer, client: holdfast.asyncio.Client, redis_server: Server, name: str
) -> None:
    key, java = SemaphoreKey(redis_server, name), peer.semaphore(name)
    assert java.try_set_permits(0)
    asleep = key.next_waiter_sleeps()
    waiter = asyncio.create_task(client.semaphore(name).acquire())
    await until(asleep)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    await until(key.no_client_waits)
    java.release()
    assert java.try_acquire()


@pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning")
async def test_ids_of_permits_pass_between_java_and_tasks(
    peer: JavaPeer, client: holdfast.asyncio.Client, redis_server: Server, name: str
) -> None:
    key = PermitSemaphoreKey(redis_server, name)
    java, mine = peer.permit_semaphore(name), client.permit_semaphore(name)
    assert await mine.try_set_permits(1)
    first = java.acquire(lease=LONG)
    asleep = key.next_waiter_sleeps()
    waiter = asyncio.create_task(mine.acquire(timeout=20, lease=LONG))
    await until(asleep)
    java.release(first)
    second = await asyncio.wait_for(waiter, SOON)
    assert set(key.given()) == {second}
    assert second is not None
    java.release(second)
    third = java.acquire(lease=LONG)
    await mine.release(third)
    assert key.given() == {}


async def test_a_latch_is_opened_by_java_for_tasks_and_by_a_task_for_java(
    peer: JavaPeer, client: holdfast.asyncio.Client, redis_server: Server, name: str
) -> None:
    key, java, mine = LatchKey(redis_server, name), peer.latch(name), client.count_down_latch(name)
    for leave in (java.count_down, java.delete):
        assert await mine.try_set_count(1)
        asleep = key.next_waiter_sleeps()
        waiter = asyncio.create_task(mine.wait(20))
        await until(asleep)
        await asyncio.to_thread(leave)
        assert await asyncio.wait_for(waiter, SOON)
        await until(key.no_client_waits)
    assert java.try_set_count(1)
    asleep = key.next_waiter_sleeps(java)
    waiting = java.begin_await(20)
    await until(asleep)
    await mine.count_down()
    assert (await asyncio.wait_for(asyncio.wrap_future(waiting), SOON)).value
