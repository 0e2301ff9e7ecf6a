"""The stand-in for redis-py's lock for asyncio: its steps in a task that is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import redis.asyncio

from holdfast.contrib.redis_py import AsyncLock, async_client_of
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers("redis")


async def happens(condition: Callable[[], object]) -> None:
    """As eventually(), while the loop goes on."""
    await asyncio.to_thread(eventually, condition)


@pytest.mark.flavours("asyncio")
@pytest.mark.parametrize("held", [False, True], ids=["free", "held by its token"])
def test_an_acquire_that_is_cancelled_before_its_reply_takes_back_what_it_got(
    server: Server, alice: Any, *, held: bool
) -> None:
    async def story(way: FaultProxy) -> None:
        async with redis.asyncio.Redis(port=way.port) as r:
            lock = r.lock("name", 10, lock_class=AsyncLock)
            if held:
                await lock.acquire(token="word")
            before = way.scripts
            way.delay(0.05)
            acquiring = asyncio.ensure_future(lock.acquire(blocking=False, token="word"))
            await happens(lambda: way.scripts > before and server.keys())
            acquiring.cancel()
            with pytest.raises(asyncio.CancelledError):
                await acquiring
            assert bool(server.keys()) is held
            await async_client_of(r).close()

    with FaultProxy(server.port) as way:
        alice.do(story, way)


@pytest.mark.flavours("asyncio")
def test_a_cancelled_acquire_ends_soon_where_the_server_does_not_answer(
    server: Server, alice: Any
) -> None:
    async def story(way: FaultProxy) -> None:
        async with redis.asyncio.Redis(port=way.port) as r:
            lock = r.lock("name", 10, lock_class=AsyncLock)
            await lock.acquire()
            await lock.release()
            before = way.scripts
            way.stall()
            acquiring = asyncio.ensure_future(lock.acquire())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            acquiring.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(acquiring, 10)
            way.heal()
            both = before + 2  # the acquire, and the release after it
            await happens(lambda: way.scripts >= both and not server.keys())
            await async_client_of(r).close()

    with FaultProxy(server.port) as way:
        alice.do(story, way)


@pytest.mark.flavours("asyncio")
@pytest.mark.parametrize("timeout", [10, None], ids=["timeout", "renewed"])
def test_a_cancelled_release_is_completed(
    server: Server, alice: Any, timeout: float | None
) -> None:
    async def story(way: FaultProxy) -> None:
        async with redis.asyncio.Redis(port=way.port) as r:
            lock = r.lock("name", timeout, lock_class=AsyncLock)
            await lock.acquire()
            way.delay(0.05)
            releasing = asyncio.ensure_future(lock.release())
            await asyncio.sleep(0)
            releasing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await releasing
            await happens(lambda: not server.keys())
            assert lock.local.token is None
            await async_client_of(r).close()

    with FaultProxy(server.port) as way:
        alice.do(story, way)
