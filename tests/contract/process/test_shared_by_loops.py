"""Event loops of several threads that share what a client for asyncio makes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import holdfast.asyncio
from tests.contract.process.conftest import NAME
from tests.support.servers import Server
from tests.support.together import THREADS, by_all

pytestmark = pytest.mark.servers("real")

TASKS = 4  # of each loop
ROUNDS = 10


async def _count(lock: Any, counted: list[int]) -> None:
    for _ in range(ROUNDS):
        async with lock:
            before = counted[0]
            await asyncio.sleep(0)
            counted[0] = before + 1


async def _tasks(lock: Any, counted: list[int]) -> None:
    await asyncio.gather(*[_count(lock, counted) for _ in range(TASKS)])


def test_event_loops_of_several_threads_have_a_client_each(server: Server) -> None:
    counted = [0]

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            await _tasks(client.lock(NAME), counted)

    by_all(lambda: asyncio.run(main()))
    assert counted == [THREADS * TASKS * ROUNDS]


@pytest.mark.parametrize("watched", [False, True])
def test_event_loops_of_several_threads_share_a_lock_object(server: Server, watched: bool) -> None:
    client = holdfast.asyncio.Client(server.url)
    lock = client.lock(NAME, cancel_on_lost=watched)
    counted = [0]
    by_all(lambda: asyncio.run(_tasks(lock, counted)))
    assert counted == [THREADS * TASKS * ROUNDS]
    asyncio.run(client.close())
    assert server.keys() == set()


def test_event_loops_of_several_threads_share_a_semaphore(server: Server) -> None:
    client = holdfast.asyncio.Client(server.url)
    semaphore = client.permit_semaphore(NAME)
    taken: list[str] = []

    async def use() -> None:
        for _ in range(ROUNDS):
            async with semaphore as permit:
                taken.append(permit)

    async def main() -> None:
        await asyncio.gather(use(), use())

    async def end() -> None:
        assert await semaphore.available_permits() == THREADS
        await semaphore.delete()
        await client.close()

    asyncio.run(semaphore.try_set_permits(THREADS))
    by_all(lambda: asyncio.run(main()))
    assert len(set(taken)) == THREADS * 2 * ROUNDS
    asyncio.run(end())
