"""asyncio and uvloop: tasks are owners, loops are many, and losing a lock can cancel its owner."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import holdfast
import holdfast.asyncio
from tests.contract.process.conftest import NAME, SHORT, Notices, Run, holds
from tests.support.renewals import KEPT
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, turns


def test_the_owner_is_the_task(server: Server, run: Run) -> None:
    """A task started inside the block holds nothing; the block's own task does."""

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client, client.lock(NAME) as lock:
            assert await lock.hold_count() == 1
            assert await asyncio.create_task(lock.hold_count()) == 0
            assert await asyncio.create_task(lock.acquire(blocking=False)) is False
            with pytest.raises(holdfast.NotOwnedError):
                await asyncio.create_task(lock.release())

    run(main())
    assert server.keys() == set()


def test_the_loop_runs_on_while_a_task_waits(server: Server, run: Run) -> None:
    """No call blocks the loop: it turns while acquire waits."""

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME)
            await lock.acquire()
            waiting = asyncio.create_task(lock.acquire(timeout=BOUND))
            await turns(1000)
            assert not waiting.done()
            await lock.release()
            assert await waiting

    run(main())


def test_two_worlds_exclude_each_other(server: Server, run: Run) -> None:
    """A thread's hold keeps tasks out, and the other way round."""
    with holdfast.Client(server.url) as threads:
        mine = threads.lock(NAME)

        async def main() -> None:
            async with holdfast.asyncio.Client(server.url) as tasks:
                theirs = tasks.lock(NAME)
                assert mine.acquire()
                assert not await theirs.acquire(blocking=False)
                mine.release()
                async with theirs:
                    assert not mine.acquire(blocking=False)

        with pytest.warns(RuntimeWarning, match="event loop"):
            run(main())


def test_a_client_serves_many_loops(server: Server, run: Run) -> None:
    """Four threads, a loop each, one client, one lock: no section overlaps another."""
    counter = [0]
    client = holdfast.asyncio.Client(server.url)
    lock = client.lock(NAME)

    async def add() -> None:
        for _ in range(5):
            async with lock:
                value = counter[0]
                await turns()
                counter[0] = value + 1

    async def main() -> None:
        await asyncio.gather(*(add() for _ in range(5)))

    threads = [threading.Thread(target=lambda: run(main())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3 * BOUND)
    assert counter == [100]
    assert server.keys() == set()
    run(_close(client))


def test_one_loop_after_another(server: Server, run: Run) -> None:
    """A client outlives its loops."""
    client = holdfast.asyncio.Client(server.url)
    lock = client.lock(NAME)

    async def section() -> None:
        async with lock:
            assert holds(server)

    for _ in range(5):
        run(section())
    run(_close(client))
    assert server.keys() == set()


@pytest.mark.realtime
def test_renewal_stops_when_the_task_is_done(server: Server, run: Run, notices: Notices) -> None:
    """ended-owner: a hold of a task that is done is not renewed; a warning names the lock."""

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url, lease=SHORT) as client:
            lock = client.lock(NAME)
            await asyncio.create_task(lock.acquire())
            assert await lock.acquire(timeout=BOUND)
            await lock.release()

    run(main())
    assert notices.naming(NAME)


def _needs_timeout(test: Any) -> Any:
    return pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.timeout is of 3.11")(test)


@_needs_timeout
@pytest.mark.realtime
def test_asyncio_timeout(server: Server, run: Run) -> None:
    """`asyncio.timeout` ends a wait with TimeoutError, and nothing is left."""

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME)
            await lock.acquire()

            async def impatient() -> None:
                async with asyncio.timeout(0.05):  # type: ignore[attr-defined,unused-ignore]
                    await lock.acquire()

            with pytest.raises(TimeoutError):
                await asyncio.create_task(impatient())
            await lock.release()
            assert server.keys() == set()

    run(main())
    eventually(lambda: server.subscribers(f"redisson_lock__channel:{{{NAME}}}") == 0)


async def _close(client: Any) -> None:
    async with client:
        pass


# ---- cancel_on_lost


async def _hold_and_lose(server: Server, body: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Hold the lock with cancel_on_lost, lose it, and run `body` inside meanwhile."""
    client = holdfast.asyncio.Client(server.url, lease=KEPT)
    async with client, client.lock(NAME, cancel_on_lost=True):
        server.inspect.delete(NAME)
        await body()


async def _for_ever() -> None:
    await asyncio.Event().wait()


@pytest.mark.realtime
def test_losing_the_lock_cancels_the_block(server: Server, run: Run) -> None:
    """`cancel_on_lost`: the body is cancelled and LockLostError comes out; the task lives on."""

    async def main() -> None:
        with pytest.raises(holdfast.LockLostError, match=NAME):
            await _hold_and_lose(server, _for_ever)
        if sys.version_info >= (3, 11):
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0
        await turns()

    run(main())


@pytest.mark.realtime
def test_a_body_that_cleans_up_may_take_its_time(server: Server, run: Run) -> None:
    """`cancel_on_lost`: `finally` blocks of the body run, and may await."""
    cleaned: list[bool] = []

    async def body() -> None:
        try:
            await _for_ever()
        finally:
            await turns()
            cleaned.append(True)

    async def main() -> None:
        with pytest.raises(holdfast.LockLostError):
            await _hold_and_lose(server, body)

    run(main())
    assert cleaned == [True]


@pytest.mark.realtime
def test_an_error_of_the_cancelled_body_comes_out_itself(server: Server, run: Run) -> None:
    """`cancel_on_lost`: what the body raises instead of the cancellation is not masked."""

    async def body() -> None:
        try:
            await _for_ever()
        except asyncio.CancelledError:
            raise KeyError("of the body") from None

    async def main() -> None:
        with pytest.raises(KeyError):
            await _hold_and_lose(server, body)

    run(main())


@pytest.mark.realtime
def test_a_body_that_swallows_the_cancellation(server: Server, run: Run) -> None:
    """`cancel_on_lost`: the end of the block still tells the loss."""

    async def body() -> None:
        try:
            await _for_ever()
        except asyncio.CancelledError:
            return

    async def main() -> None:
        with pytest.raises(holdfast.LockLostError):
            await _hold_and_lose(server, body)

    run(main())


def test_a_cancellation_from_outside_stays_one(server: Server, run: Run) -> None:
    """`cancel_on_lost`: who cancels the task gets CancelledError, and the lock is released."""

    async def hold(client: Any, inside: asyncio.Event) -> None:
        async with client.lock(NAME, cancel_on_lost=True):
            inside.set()
            await _for_ever()

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            inside = asyncio.Event()
            task = asyncio.create_task(hold(client, inside))
            await inside.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(main())
    assert server.keys() == set()


@pytest.mark.realtime
def test_without_it_the_body_is_left_alone(server: Server, run: Run) -> None:
    """The default only tells: the body runs to its end, and then the loss comes out."""
    ended: list[bool] = []

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url, lease=KEPT) as client:
            lost = asyncio.Event()
            async with client.lock(NAME, on_lost=lambda _: lost.set()) as lock:
                server.inspect.delete(NAME)
                await lost.wait()
                assert lock.lost
                ended.append(True)

    with pytest.raises(holdfast.LockLostError):
        run(main())
    assert ended == [True]
