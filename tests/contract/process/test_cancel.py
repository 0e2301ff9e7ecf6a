"""Cancellation at any moment leaves nothing behind: no hold, no place, no subscription."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import Any

import pytest

import holdfast.asyncio
from tests.contract.process.conftest import CHANNEL, NAME, NewLoop, Run, holds
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, turns


def nothing_is_left(server: Server) -> None:
    """No keys and no subscriber, soon."""
    eventually(lambda: server.keys() == set(), what="no hold is left")
    eventually(lambda: server.subscribers(CHANNEL) == 0, what="no subscription is left")


async def _cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel a task and see how it ends: cancelled, or finished before."""
    task.cancel()
    await asyncio.wait([task], timeout=BOUND)
    assert task.done()
    assert task.cancelled() or task.exception() is None


async def _granted_but_cancelled_outside(task: asyncio.Task[Any], lock: Any) -> None:
    """End an acquire that may have been granted just before it was cancelled."""
    await _cancelled(task)
    if not task.cancelled() and task.result():
        await lock.force_release()


async def _section(lock: Any) -> None:
    async with lock:
        await turns()


def test_cancelled_after_any_number_of_turns_of_the_loop(server: Server) -> None:
    """interrupted-acquire, due-cancellation.

    Before it is sent, in flight, granted but not delivered.
    """

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME)
            for number in [*range(20), *range(20, 400, 20)]:
                task = asyncio.create_task(_section(lock))
                await turns(number)
                await _cancelled(task)
            assert await lock.acquire(timeout=BOUND)
            await lock.release()

    asyncio.run(main())
    nothing_is_left(server)


def test_a_lock_of_locks_cancelled_after_any_number_of_turns(server: Server) -> None:
    """interrupted-acquire.

    Its members are released before the end of the task, after which nothing renews them.
    """

    async def main() -> None:
        # All of it is sent before the close, which waits for fakeredis on a busy machine.
        async with holdfast.asyncio.Client(server.url, command_timeout=BOUND) as client:
            lock = client.multi_lock(client.lock("a"), client.lock("b"))
            for number in [*range(40), *range(40, 2000, 40)]:
                tasks = [asyncio.create_task(_section(lock)) for _ in range(4)]
                await turns(number)
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks, timeout=BOUND)
                assert all(task.done() for task in tasks)
            assert client.stats().lost == 0

    asyncio.run(main())
    eventually(lambda: server.keys() == set(), what="no member is left")


def test_cancelled_when_it_is_granted_and_does_not_know(server: Server) -> None:
    """interrupted-acquire: a callback that was due comes between the reply and the task's step."""

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME)
            for _ in range(5):  # the loop reads for itself
                async with lock:
                    pass
            task = asyncio.create_task(lock.acquire())
            await asyncio.sleep(0)
            eventually(lambda: holds(server))
            asyncio.get_running_loop().call_later(0, task.cancel)
            await asyncio.wait([task], timeout=BOUND)
            assert task.cancelled()
            eventually(lambda: not holds(server), what="the grant is given back")

    asyncio.run(main())
    nothing_is_left(server)


def test_cancelled_while_waiting(server: Server) -> None:
    """interrupted-acquire: the wait ends, the holder notices nothing, no subscription is left."""

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME)
            await lock.acquire()
            before = holds(server)
            for number in range(0, 300, 10):
                task = asyncio.create_task(lock.acquire())
                await turns(number)
                await _cancelled(task)
                assert task.cancelled()
            assert holds(server) == before
            await lock.release()

    asyncio.run(main())
    nothing_is_left(server)


@pytest.mark.parametrize("number", [0, 1, 2, 5, 20, 100])
def test_a_cancelled_waiter_passes_its_wake_up_on(server: Server, number: int) -> None:
    """interrupted-acquire: a waiter that is cancelled at its wake-up passes it on."""

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            lock = client.lock(NAME)
            for _ in range(5):
                await lock.acquire(lease=3600)
                first = asyncio.create_task(lock.acquire())
                await turns(50)
                second = asyncio.create_task(_section(lock))
                await turns(50)
                await lock.release()
                await turns(number)
                await _granted_but_cancelled_outside(first, lock)
                await asyncio.wait_for(second, BOUND)

    asyncio.run(main())
    nothing_is_left(server)


def test_cancelled_while_the_server_is_silent(private_server: Server) -> None:
    """interrupted-acquire, I7: the task is free at once.

    The late grant is given back when it arrives.
    """

    async def main() -> None:
        async with holdfast.asyncio.Client(private_server.url) as client:
            lock = client.lock(NAME)
            await client.ping()
            for _ in range(5):
                private_server.pause()
                task = asyncio.create_task(lock.acquire())
                await turns(100)
                await _cancelled(task)
                assert task.cancelled()
                private_server.resume()
                assert await lock.acquire(timeout=BOUND)
                assert await lock.hold_count() == 1
                await lock.release()

    asyncio.run(main())
    nothing_is_left(private_server)


def test_a_cancelled_release_is_a_release(private_server: Server) -> None:
    """interrupted-acquire: cancelled in flight, it still happens.

    The hold is gone without waiting for its lease.
    """
    silent = asyncio.Event()

    async def hold_and_release(lock: Any) -> None:
        await lock.acquire(lease=3600)
        private_server.pause()
        silent.set()
        await lock.release()

    async def main() -> None:
        async with holdfast.asyncio.Client(private_server.url) as client:
            lock = client.lock(NAME)
            await client.ping()
            task = asyncio.create_task(hold_and_release(lock))
            await silent.wait()
            await turns(100)
            await _cancelled(task)
            private_server.resume()
            assert await lock.acquire(timeout=BOUND)
            await lock.release()

    asyncio.run(main())
    nothing_is_left(private_server)


class NestedRelease:
    """A task that holds a lock twice, and whose first release may be cancelled."""

    def __init__(self, lock: Any, server: Server | None = None) -> None:
        self._lock = lock
        self._silent = server
        self._begun = asyncio.Event()
        self._over = False
        self.task = asyncio.create_task(self._run())

    async def cancel(self, number: int) -> None:
        """Cancel the release after some turns of the loop, and await the end of its task."""
        await self._begun.wait()
        await turns(number)
        if not self._over:
            self.task.cancel()
        await asyncio.wait_for(self.task, BOUND)

    async def _run(self) -> None:
        for _ in range(2):
            await self._lock.acquire(lease=3600)
        if self._silent is not None:
            self._silent.pause()
        self._begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await self._lock.release()
        self._over = True
        if self._silent is not None:
            self._silent.resume()
        await self._lock.release()
        with pytest.raises(holdfast.NotOwnedError):
            await self._lock.release()


def test_a_cancelled_nested_release_is_one_release(server: Server) -> None:
    """interrupted-acquire: cancelled in flight or when it is done.

    One hold is given back, and one is left.
    """

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            for number in [*range(10), *range(10, 200, 10)]:
                await NestedRelease(client.lock(NAME)).cancel(number)
                eventually(lambda: server.keys() == set())

    asyncio.run(main())
    nothing_is_left(server)


def test_a_nested_release_that_is_cancelled_in_silence(private_server: Server) -> None:
    """interrupted-acquire.

    Whether the server will have heard of it or not, the outer release frees the lock.
    """

    async def main() -> None:
        async with holdfast.asyncio.Client(private_server.url) as client:
            for number in (0, 1, 2, 5, 10, 20, 50, 100):
                await NestedRelease(client.lock(NAME), private_server).cancel(number)
                eventually(lambda: private_server.keys() == set())

    asyncio.run(main())
    nothing_is_left(private_server)


def test_cancelled_just_when_it_failed(new_loop: NewLoop) -> None:
    """interrupted-acquire.

    A cancellation that meets the error of its operation on the way is not swallowed by it.
    """
    asked: list[bool] = []

    async def main() -> None:
        client = holdfast.asyncio.Client("redis://127.0.0.1:1")
        await client.close()
        for number in range(10):
            task = asyncio.create_task(client.lock(NAME).acquire())  # fails without asking
            await turns(number)
            asked.append(task.cancel())
            await asyncio.wait([task], timeout=BOUND)
            assert task.cancelled() == asked[-1]
            assert asked[-1] or isinstance(task.exception(), holdfast.ConnectionError)

    loop = new_loop()
    loop.run_until_complete(main())
    loop.close()
    assert {*asked} == {True, False}, "it never came too late: nothing was tested"


@pytest.mark.parametrize("seed", range(3))
def test_thousands_of_random_cancellations(server: Server, seed: int) -> None:
    """interrupted-acquire.

    Contended sections cancelled at seeded moments never overlap and leave nothing.
    """
    rounds = 1500 if server.real else 200
    chance = random.Random(seed)
    inside: dict[int, int] = {}
    finished: list[int] = []

    async def section(lock: Any, number: int, name: int) -> None:
        async with lock:
            assert inside.setdefault(name, number) == number
            try:
                await turns(chance.randrange(3))
            finally:
                del inside[name]
            finished.append(number)

    async def attempt(locks: list[Any], number: int) -> None:
        name = chance.randrange(len(locks))
        task = asyncio.create_task(section(locks[name], number, name))
        if chance.randrange(10):
            await turns(chance.choice([0, 1, 3, 10, 30, 100, 1000]))
            await _cancelled(task)
        else:
            await task

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            locks = [client.lock(f"{NAME} {name}") for name in range(3)]
            for start in range(0, rounds, 50):
                await asyncio.gather(*(attempt(locks, start + n) for n in range(50)))
            for lock in locks:
                assert await lock.acquire(timeout=BOUND)
                await lock.release()

    asyncio.run(main())
    assert 0 < len(finished) < rounds, "all or none were cancelled: nothing was tested"
    nothing_is_left(server)


def test_a_late_answer_reaches_no_other_task(server: Server, run: Run) -> None:
    """due-cancellation.

    An answer waits for the loop when its task is cancelled and another one asks.
    """
    server.inspect.hset(NAME, "somebody-else:1", 1)
    server.inspect.pexpire(NAME, 60_000)

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            late = asyncio.create_task(client.lock(NAME).acquire(timeout=0.3))
            while client.stats().waiting + client.stats().timed_out == 0:
                if late.done():  # the server took longer than that
                    late = asyncio.create_task(client.lock(NAME).acquire(timeout=0.3))
                await turns()
            eventually(lambda: client.stats().timed_out == 1, what="a blocked loop")
            late.cancel()
            await asyncio.wait_for(asyncio.create_task(_section(client.lock("other"))), BOUND)
            assert late.cancelled()

    run(main())
