"""A task has one acquisition of a lock at a time.

No callback can be inside an `await` of a task: it has no current task, and so no owner. A task gets
there only by stepping an awaitable by hand.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import holdfast.asyncio
from tests.contract.kinds import KINDS, Kind
from tests.support.servers import Server

NAME = "myLock"

REFUSED = "is being acquired by this task: it must have been awaited before the task uses the same"

Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_a_task_acquires_a_lock_once_at_a_time(server: Server, run: Run, kind: Kind) -> None:
    """handler-during-acquire.

    What it steps by hand is under way until its end, and leaves nothing behind.
    """

    async def main() -> None:
        async with (
            holdfast.asyncio.Client(server.url) as client,
            holdfast.asyncio.Client(server.url) as rivals,
        ):
            lock, other = kind.make(client, NAME), kind.make(client, NAME + "-other")
            async with (kind.make_rival or kind.make)(rivals, NAME):  # no grant ends the attempt
                steps = lock.acquire().__await__()
                next(steps)
                for call in (lock.acquire, lock.release):
                    with pytest.raises(RuntimeError, match=REFUSED):
                        await call()
                async with other:
                    pass
                assert not await asyncio.create_task(_try(lock))
                steps.close()
            async with lock, lock:
                pass

    run(main())


async def _take(lock: Any) -> None:
    async with lock:
        pass


async def _try(lock: Any) -> bool:
    taken: bool = await lock.acquire(blocking=False)
    if taken:
        await lock.release()
    return taken


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_a_cancelled_task_may_acquire_again_at_once(server: Server, run: Run, kind: Kind) -> None:
    """handler-during-acquire.

    Its attempt ends with the wait, also where the engine's thread cancels the members.
    """

    async def main() -> None:
        async with (
            holdfast.asyncio.Client(server.url) as client,
            holdfast.asyncio.Client(server.url) as rivals,
        ):
            lock = kind.make(client, NAME)
            rival = (kind.make_rival or kind.make)(rivals, NAME)
            async with rival:
                for _ in range(3):
                    with pytest.raises(asyncio.TimeoutError):
                        await asyncio.wait_for(lock.acquire(), 0.02)
                    assert not await lock.acquire(blocking=False)
            async with lock:
                pass

    run(main())


def test_a_callback_of_a_signal_has_no_owner(server: Server, run: Run) -> None:
    """handler-during-acquire: the loop calls it while the task waits, outside of any task."""
    errors: list[BaseException] = []

    def step(*_: object) -> None:
        try:
            locks[0].acquire().send(None)
        except RuntimeError as error:
            errors.append(error)

    async def main() -> None:
        async with (
            holdfast.asyncio.Client(server.url) as client,
            holdfast.asyncio.Client(server.url) as rivals,
        ):
            locks.append(client.lock(NAME))
            async with rivals.lock(NAME):
                waiting = asyncio.create_task(_take(locks[0]))
                loop = asyncio.get_running_loop()
                loop.add_signal_handler(signal.SIGUSR1, step)
                while not errors:
                    signal.raise_signal(signal.SIGUSR1)
                    await asyncio.sleep(0.01)
                loop.remove_signal_handler(signal.SIGUSR1)
            await waiting

    locks: list[Any] = []
    run(main())
    assert "only a task" in str(errors[0])
