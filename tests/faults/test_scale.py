"""Many holds under the watchdog, and many waiters on one name."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import holdfast
import holdfast.asyncio
from tests.faults.conftest import NAME
from tests.support.servers import Server
from tests.support.waiting import eventually, stays, turns

pytestmark = [pytest.mark.slow, pytest.mark.realtime, pytest.mark.servers("real")]


def test_thousands_of_holds_are_renewed(server: Server) -> None:
    """many-holds: 5 000 holds with a lease of 2 s: none is lost, none is renewed late."""
    lost: list[Any] = []
    with holdfast.Client(server.url, lease=2) as client:
        locks = [client.lock(f"lock {number}", on_lost=lost.append) for number in range(5000)]
        for lock in locks:
            assert lock.acquire()
        stays(lambda: server.inspect.dbsize() == 5000 and not lost, during=5)
        for lock in locks:
            lock.release()
    assert server.keys() == set()


def test_a_thousand_tasks_wait_for_one_lock(server: Server) -> None:
    """many-waiters: each gets it once, one at a time, and nothing is left."""
    inside: list[int] = []
    done: list[int] = []

    async def one(lock: Any, number: int) -> None:
        async with lock:
            inside.append(number)
            await turns()
            assert inside == [number]
            inside.clear()
            done.append(number)

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME)
            await asyncio.gather(*(one(lock, number) for number in range(1000)))

    asyncio.run(main())
    assert sorted(done) == list(range(1000))
    assert server.keys() == set()
    eventually(lambda: server.subscribed_channels() == set())


def test_two_hundred_threads_wait_for_one_lock(server: Server) -> None:
    """many-waiters: as above, with threads."""
    done: list[int] = []
    with holdfast.Client(server.url) as client:
        lock = client.lock(NAME)

        def one(number: int) -> None:
            with lock:
                done.append(number)

        threads = [threading.Thread(target=one, args=(number,)) for number in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(done) == list(range(200))
    assert server.keys() == set()
