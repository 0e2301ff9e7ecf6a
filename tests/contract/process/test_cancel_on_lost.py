"""`cancel_on_lost`: one loss is one cancellation, which the block that asked for it undoes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

import pytest

import holdfast
import holdfast.asyncio
from tests.contract.process.conftest import NAME, Notices, Run, holds
from tests.support.renewals import KEPT
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, taking, turns

pytestmark = pytest.mark.realtime

Body = Callable[[], Coroutine[Any, Any, Any]]


async def _until_cancelled() -> None:
    await taking(BOUND)
    pytest.fail("the body was not cancelled")


async def _swallow() -> None:
    try:
        await _until_cancelled()
    except asyncio.CancelledError:
        return


BODIES = pytest.mark.parametrize(
    "body", [_until_cancelled, _swallow], ids=["is cancelled", "swallows it"]
)


async def _lose_inside(server: Server, body: Body, *locks: Any) -> None:
    """Enter the blocks of locks of one name, one in the other, and lose it in the innermost."""
    async with AsyncExitStack() as blocks:
        for lock in locks:
            await blocks.enter_async_context(lock)
        server.inspect.delete(NAME)
        await body()


def _cancelling() -> int:
    """How many cancellations the current task has still to answer for, where tasks count them."""
    task = asyncio.current_task()
    assert task is not None
    if sys.version_info >= (3, 11):
        return task.cancelling()
    return 0


async def _goes_on(cancelling: int = 0) -> None:
    """Nothing cancels the current task, now or later."""
    assert _cancelling() == cancelling
    await turns(100)
    assert _cancelling() == cancelling


@BODIES
@pytest.mark.parametrize("objects", [1, 2])
def test_a_loss_in_a_nested_block_comes_out_of_the_outer_one(
    server: Server, run: Run, body: Body, objects: int
) -> None:
    """Nested by one lock object or by two: nothing of the cancellation is left behind."""

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url, lease=KEPT) as client:
            locks = [client.lock(NAME, cancel_on_lost=True) for _ in range(objects)]
            with pytest.raises(holdfast.LockLostError, match=NAME):
                await _lose_inside(server, body, locks[0], locks[-1])
            await _goes_on()
            await client.ping()
            assert client._listeners == {}

    run(main())


def test_a_loss_after_a_nested_block_comes_out_of_the_outer_one(server: Server, run: Run) -> None:
    """The inner block has ended properly: it does not end the watch, nor is it told."""
    told: list[Any] = []

    async def nest(client: Any, options: dict[str, Any]) -> None:
        async with client.lock(NAME, cancel_on_lost=True):
            async with client.lock(NAME, **options):
                pass
            await _lose_inside(server, _until_cancelled)

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url, lease=KEPT) as client:
            for options in ({}, {"on_lost": told.append}, {"cancel_on_lost": True}):
                with pytest.raises(holdfast.LockLostError, match=NAME):
                    await nest(client, options)
                await _goes_on()

    run(main())
    assert told == []


def test_a_loss_cancels_the_outer_block_and_is_reported_inside(server: Server, run: Run) -> None:
    """A loss at an inner lock object does not take the outer one's place."""

    async def main() -> None:
        told: asyncio.Queue[Any] = asyncio.Queue()
        async with holdfast.asyncio.Client(server.url, lease=KEPT) as client:
            outer = client.lock(NAME, cancel_on_lost=True)
            inner = client.lock(NAME, on_lost=told.put_nowait)
            with pytest.raises(holdfast.LockLostError, match=NAME):
                await _lose_inside(server, _until_cancelled, outer, inner)
            assert await asyncio.wait_for(told.get(), BOUND) is inner
            await _goes_on()
            assert told.empty()

    run(main())


def test_an_inner_block_that_is_cancelled_leaves_the_outer_one_alone(
    server: Server, run: Run
) -> None:
    """The outer lock object did not ask for it: its body runs on."""
    ended: list[bool] = []

    async def nest(client: Any) -> None:
        async with client.lock(NAME):
            with pytest.raises(holdfast.LockLostError, match=NAME):
                await _lose_inside(server, _until_cancelled, client.lock(NAME, cancel_on_lost=True))
            await _goes_on()
            ended.append(True)

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url, lease=KEPT) as client:
            with pytest.raises(holdfast.NotOwnedError):
                await nest(client)

    run(main())
    assert ended == [True]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Task.cancelling is of 3.11")
@BODIES
def test_a_task_that_was_cancelled_before_gets_the_loss(
    server: Server, run: Run, body: Body
) -> None:
    """It goes on after its own cancellation, which the block neither undoes nor mistakes."""

    async def go_on() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await _swallow()
        async with holdfast.asyncio.Client(server.url, lease=KEPT) as client:
            with pytest.raises(holdfast.LockLostError, match=NAME):
                await _lose_inside(server, body, client.lock(NAME, cancel_on_lost=True))
            await _goes_on(cancelling=1)

    async def main() -> None:
        await asyncio.create_task(go_on())

    run(main())


def _await_all_reports(server: Server) -> None:
    """Return when a new loss has been reported: all earlier losses were reported before it."""
    told: list[Any] = []
    with holdfast.Client(server.url) as client:
        lock = client.lock("another", on_lost=told.append)
        lock.acquire()
        lock.force_release()
        eventually(lambda: told)


def test_a_loss_before_the_body_begins_keeps_it_from_beginning(
    server: Server, run: Run, notices: Notices
) -> None:
    """Told while the grant was on its way to the task: entering raises, nothing is cancelled."""

    async def enter(client: Any) -> None:
        with pytest.raises(holdfast.LockLostError, match=NAME):
            async with client.lock(NAME, cancel_on_lost=True):
                raise KeyError("of the body")
        await _goes_on()

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url, lease=KEPT) as client:
            entering = asyncio.create_task(enter(client))
            await turns()
            eventually(lambda: holds(server))  # this loop blocks until the loss is reported
            server.inspect.delete(NAME)
            eventually(lambda: notices.naming(NAME))
            _await_all_reports(server)
            await entering

    run(main())
