"""What `async with lock:`, `acquire()` and `release()` give to `await`, for asyncio a coroutine."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import holdfast.asyncio
from tests.contract.process.conftest import NAME, NewLoop, Notices, Run, holds
from tests.support.servers import Server
from tests.support.waiting import BOUND, turns

Take = Callable[[Any], Coroutine[Any, Any, Any]]

TAKES: list[Take] = [lambda lock: lock.acquire(), lambda lock: lock.__aenter__()]
takes = pytest.mark.parametrize("take", TAKES, ids=["acquire", "aenter"])


async def _in_task(call: Coroutine[Any, Any, Any]) -> Any:
    return await asyncio.create_task(call)


async def _gathered(call: Coroutine[Any, Any, Any]) -> Any:
    (result,) = await asyncio.gather(call)
    return result


async def _ensured(call: Coroutine[Any, Any, Any]) -> Any:
    return await asyncio.ensure_future(call)


async def _shielded(call: Coroutine[Any, Any, Any]) -> Any:
    return await asyncio.shield(call)


async def _by_another_thread(call: Coroutine[Any, Any, Any]) -> Any:
    loop, given = asyncio.get_running_loop(), list[Any]()

    def give() -> None:
        given.append(asyncio.run_coroutine_threadsafe(call, loop))

    thread = threading.Thread(target=give)
    thread.start()
    thread.join(BOUND)
    return await asyncio.wrap_future(given[0])


WAYS = [_in_task, _gathered, _ensured, _shielded, _by_another_thread]


@takes
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.strip("_"))
def test_a_call_is_done_by_the_task_that_awaits_it(
    server: Server, run: Run, take: Take, way: Callable[[Any], Coroutine[Any, Any, Any]]
) -> None:
    """Each of these ways makes a task, which is the owner: the caller holds nothing."""

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME)
            call = take(lock)
            await turns()
            assert not holds(server), "it began before it was awaited"
            assert await way(call) in {True, lock}
            assert list(holds(server).values()) == [1]
            with pytest.raises(holdfast.NotOwnedError):
                await lock.release()
            await lock.force_release()

    run(main())


@takes
def test_wait_for_ends_a_wait(server: Server, run: Run, take: Take) -> None:
    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client, client.lock(NAME) as lock:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(_in_task(take(lock)), 0.05)
        assert not holds(server)

    run(main())


@takes
def test_a_call_that_is_cancelled_before_its_first_step_sends_nothing(
    server: Server, run: Run, take: Take
) -> None:
    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            task = asyncio.create_task(take(client.lock(NAME)))
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            assert client.stats().commands == 0

    run(main())


def test_an_exit_stack(server: Server, run: Run) -> None:
    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            async with contextlib.AsyncExitStack() as stack:
                lock = client.lock(NAME)
                assert await stack.enter_async_context(lock) is lock
                assert holds(server)
            assert not holds(server)

    run(main())


@takes
def test_a_call_without_await_sends_nothing_and_is_warned_of(
    server: Server, run: Run, notices: Notices, take: Take
) -> None:
    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            take(client.lock(NAME))
            gc.collect()
            assert client.stats().commands == 0

    run(main())
    assert notices.naming("was never awaited")


@takes
def test_a_call_is_awaited_once(server: Server, run: Run, take: Take) -> None:
    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME)
            call = take(lock)
            await call
            with pytest.raises(RuntimeError):
                await call
            await lock.release()

    run(main())


@takes
def test_a_call_that_another_task_awaits_fails(server: Server, run: Run, take: Take) -> None:
    async def wait_for(call: Coroutine[Any, Any, Any]) -> Any:
        return await call

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client, client.lock(NAME) as lock:
            call = take(lock)
            first, second = (asyncio.create_task(wait_for(call)) for _ in range(2))
            with pytest.raises(RuntimeError, match="awaited"):
                await asyncio.wait_for(asyncio.shield(second), BOUND)
            assert not first.done()
            first.cancel()
            await asyncio.wait([first])

    run(main())


@takes
def test_outside_of_any_task(server: Server, new_loop: NewLoop, take: Take) -> None:
    errors: list[BaseException] = []

    def step() -> None:
        try:
            take(lock).send(None)
        except RuntimeError as error:
            errors.append(error)
        finally:
            loop.stop()

    lock = holdfast.asyncio.Client(server.url).lock(NAME)
    step_without_loop = pytest.raises(RuntimeError, match="no running event loop")
    with step_without_loop:
        take(lock).send(None)
    loop = new_loop()
    loop.call_soon(step)
    loop.run_forever()
    loop.close()
    assert str(errors[0]).startswith("only a task can acquire or release a lock")
    assert "asyncio.run()" in str(errors[0]), "what to do"


def test_loops_of_one_thread_in_turns(server: Server, new_loop: NewLoop) -> None:
    """Each step is of the loop that runs, whichever ran before."""
    client = holdfast.asyncio.Client(server.url)
    lock = client.lock(NAME)
    loops = [new_loop(), new_loop()]

    async def pair() -> None:
        async with lock:
            await turns()

    for _ in range(3):
        for loop in loops:
            loop.run_until_complete(asyncio.wait_for(pair(), BOUND))
    loops[0].run_until_complete(client.close())
    for loop in loops:
        loop.close()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks are of 3.12")
def test_eager_tasks_are_owners(server: Server) -> None:
    async def section(lock: Any) -> None:
        async with lock:
            assert list(holds(server).values()) == [1]

    async def main() -> None:
        factory: Any = asyncio.eager_task_factory  # type: ignore[attr-defined,unused-ignore]
        asyncio.get_running_loop().set_task_factory(factory)
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME)
            for _ in range(5):
                await asyncio.gather(*(asyncio.create_task(section(lock)) for _ in range(5)))

    asyncio.run(main())
    assert not holds(server)


def test_programs_see_coroutine_functions() -> None:
    """As a mock with the lock as its spec asks for them."""
    assert inspect.iscoroutinefunction(holdfast.asyncio.Lock.acquire)
    assert inspect.iscoroutinefunction(holdfast.asyncio.Lock.release)
