"""The attempts of the stand-ins for redis-py's locks, and what a cancelled one takes back."""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from redis import exceptions

import holdfast
from holdfast import integration

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from holdfast.integration import Seconds

__all__ = ["NO_LOCK", "Attempt", "answered", "begun", "completed", "is_busy"]

#: The server's error for a key that is not a lock of holdfast: redis-py's are strings.
NO_LOCK = "WRONGTYPE"
#: Seconds for which a cancelled acquire, or release, waits for the server's answer.
WAIT = 1.0

_T = TypeVar("_T")

_steps: set[asyncio.Future[Any]] = set()


class Attempt:
    """One call of ``acquire``: its deadline, and its handling of errors."""

    def __init__(
        self,
        lock: Any,
        sleep: Seconds | None,
        blocking: bool | None,
        timeout: Seconds | None,
    ) -> None:
        timeout = lock.blocking_timeout if timeout is None else timeout
        self.pause = lock.sleep if sleep is None else sleep
        self._blocking = lock.blocking if blocking is None else blocking
        self._deadline = math.inf if timeout is None else time.monotonic() + timeout

    def goes_on(self) -> bool:
        """Whether to wait until the lock is free."""
        return self._blocking and time.monotonic() < self._deadline

    def may_sleep(self) -> bool:
        """Whether to try again after the pause."""
        return time.monotonic() + self.pause <= self._deadline

    def left(self) -> float | None:
        """For ``hold()``: the time that is left."""
        left = self._deadline - time.monotonic()
        return None if left == math.inf else max(left, 0.0)


def is_busy(error: holdfast.HoldfastError) -> bool:
    """Whether another holds the lock.

    A key that is one of redis-py's locks is busy, and no message says when it is free.
    """
    if isinstance(error, holdfast.ServerError):
        return error.code == NO_LOCK
    return isinstance(error, holdfast.LockTimeout) and integration.is_busy(error)


async def answered(call: Awaitable[Any], free: Callable[[], Awaitable[Any]]) -> bool:
    """The answer to an acquire's command.

    Where the caller is cancelled, the command goes on: what it got is freed.
    """
    answer = asyncio.ensure_future(call)
    try:
        return bool(await asyncio.shield(answer))
    except asyncio.CancelledError:
        await completed(_freed(answer, free))
        raise


async def _freed(answer: Awaitable[Any], free: Callable[[], Awaitable[Any]]) -> None:
    with suppress(exceptions.RedisError):
        if await answer:
            await free()


async def begun(step: Awaitable[_T]) -> _T:
    """The result of a step that goes on where its caller is cancelled."""
    future = asyncio.ensure_future(step)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        await completed(future)
        raise


async def completed(step: Awaitable[Any]) -> None:
    """Wait for a step, which goes on where this is cancelled, or the server does not answer."""
    future = asyncio.ensure_future(step)
    _steps.add(future)
    future.add_done_callback(_steps.discard)
    await asyncio.wait({future}, timeout=WAIT)
