"""The reentrant lock for asyncio: the twin of ``holdfast.Lock``, with its owner a task."""

from __future__ import annotations

import sys
from asyncio import CancelledError, Task, current_task, get_running_loop
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast import _events
from holdfast._arguments import (
    UNSET,
    LeaseTime,
    Name,
    Seconds,
    Unset,
    checked_timeout,
    milliseconds,
)
from holdfast._errors import HoldfastError, LockLostError
from holdfast._lock import BaseLock, seconds_left

from ._loop import NOBODY, Bridge, bridge, owner_of_this_task

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from holdfast._client import BaseClient

__all__ = ["Lock"]


def _this_task() -> Task[Any]:
    task = current_task()
    if task is None:
        msg = "a lock can be taken and released by a task only"
        raise RuntimeError(msg)
    return task


class Lock(BaseLock["BaseClient[Any]"]):
    """A reentrant lock, held by a task and shared by all processes that use its name.

    Made by ``client.lock(name)``. All lock objects of one name and client share the holds of a
    task. With ``cancel_on_lost`` the loss of a hold cancels its owner inside ``async with``, which
    then raises ``LockLostError``.
    """

    __slots__ = ("_body", "_cancel_on_lost", "_loop", "_lost_reason")

    _owner_word = "task"

    def __init__(
        self,
        client: BaseClient[Any],
        name: Name,
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[Lock], object] | None = None,
        cancel_on_lost: bool = False,
    ) -> None:
        super().__init__(client, name, lease=lease, wait=wait, on_lost=on_lost)
        self._cancel_on_lost = bool(cancel_on_lost)
        self._body: list[Task[Any]] = []  # the owner inside `async with`, once for each nesting
        self._loop: AbstractEventLoop | None = None
        self._lost_reason: str | None = None

    def _owner(self) -> int:
        return owner_of_this_task()

    def _known_owner(self) -> int | None:
        owner = owner_of_this_task()
        return None if owner == NOBODY else owner

    def _before_acquire(self) -> int:
        if self._cancel_on_lost or self._on_lost is not None:
            self._loop = get_running_loop()
        listener = super()._before_acquire()
        if self._cancel_on_lost and not listener:
            listener = self._listener = _events.listen(self, self._listener)
        return listener

    async def acquire(
        self,
        blocking: bool = True,
        timeout: Seconds | None = -1,
        *,
        lease: Seconds | Unset | None = UNSET,
    ) -> bool:
        """Take the lock, or one more hold of it; ``True`` when that was done.

        As ``holdfast.Lock.acquire``, for the current task. A task that is cancelled meanwhile
        leaves nothing behind.
        """
        seconds = checked_timeout(blocking, timeout)
        given = self._lease if lease is UNSET else self._lease_of(lease)
        return await self._acquire(bool(blocking), seconds, given)

    async def _acquire(self, blocking: bool, seconds: float, lease: LeaseTime) -> bool:
        loop = bridge()
        owner = loop.owner(_this_task())
        number = self._core.start_acquire(
            loop.queue, owner, blocking, seconds, lease.ms, lease.watched, self._before_acquire()
        )
        granted: bool = await loop.wait(
            number, partial(self._core.start_release, loop.queue, owner, False)
        )
        return granted

    async def release(self) -> None:
        """Give one hold back, as ``holdfast.Lock.release``. Once begun it is carried through."""
        loop = bridge()
        owner = self._owner()
        await loop.wait(self._core.start_release(loop.queue, owner, False))
        self._after_release()

    async def locked(self) -> bool:
        """Whether anyone holds it, asked of the server."""
        count: int = await self._ask(self._core.start_locked)
        return count > 0

    async def owned(self) -> bool:
        """Whether the current task holds it, asked of the server."""
        return await self.hold_count() > 0

    async def hold_count(self) -> int:
        """The holds of the current task, asked of the server."""
        count: int | None = await self._ask(self._core.start_hold_count, self._owner())
        return count or 0

    async def ttl(self) -> float | None:
        """Seconds left on the server; ``None``: nobody holds it; infinite: it has no limit."""
        return seconds_left(await self._ask(self._core.start_ttl))

    async def extend(self, lease: Seconds) -> bool:
        """Set a new fixed lease from now on, no longer renewed; ``False`` when not held."""
        ms = milliseconds("lease", lease)
        answer: int = await self._ask(self._core.start_extend, self._owner(), ms)
        return answer == 1

    async def force_release(self) -> bool:
        """Free the lock whoever holds it; ``True`` if someone did. Waiters wake."""
        answer: int = await self._ask(self._core.start_force_release)
        return answer == 1

    @staticmethod
    async def _ask(start: Callable[..., int], *arguments: Any) -> Any:
        loop: Bridge = bridge()
        return await loop.wait(start(loop.queue, *arguments))

    async def __aenter__(self) -> Self:
        if not await self._acquire(True, self._wait, self._lease):
            raise self._timed_out()
        if self._cancel_on_lost:
            self._lost_reason = None
            self._body.append(_this_task())
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        cancelled = self._left_body(exc)
        try:
            await self.release()
        except HoldfastError as error:
            if cancelled:
                raise LockLostError(str(error)) from exc
            if exc is None:
                raise
            self._note(exc, error)
        if cancelled:
            msg = f"the hold on {self.name!r} was lost: {self._lost_reason}"
            raise LockLostError(msg) from exc

    def _left_body(self, exc: BaseException | None) -> bool:
        """Whether the body was cancelled because the hold was lost: that is undone here."""
        if not self._body:
            return False
        task = self._body.pop()
        if self._lost_reason is None or self._body:
            return False
        if sys.version_info >= (3, 11) and task.uncancel() > 0:
            return False  # somebody else has cancelled it, too
        return isinstance(exc, CancelledError)

    def _hold_lost(self, reason: str) -> None:
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        loop.call_soon_threadsafe(self._tell_owner, reason)

    def _tell_owner(self, reason: str) -> None:
        if self._body and self._lost_reason is None:
            self._lost_reason = reason
            self._body[-1].cancel()
        if self._on_lost is not None:
            self._on_lost(self)
