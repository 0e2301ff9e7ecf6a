"""The semaphore whose permits have ids and expire, for asyncio."""

from __future__ import annotations

from asyncio import current_task
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast import _core
from holdfast._arguments import (
    UNSET,
    LeaseTime,
    Name,
    Seconds,
    Unset,
    checked_count,
    checked_timeout,
    milliseconds,
)
from holdfast._errors import HoldfastError, NotOwnedError
from holdfast._permit_semaphore import BasePermitSemaphore, checked_permit

from ._loop import ask, bridge

if TYPE_CHECKING:
    from collections.abc import Hashable
    from types import TracebackType

    from holdfast._client import BaseClient

__all__ = ["PermitSemaphore"]


class PermitSemaphore(BasePermitSemaphore):
    """A semaphore whose permits have ids and are returned when their lease ends.

    Made by ``client.permit_semaphore(name)``: the twin of ``holdfast.PermitSemaphore``. A permit
    is identified by its id and belongs to no task.
    """

    __slots__ = ("_entered",)

    def __init__(
        self,
        client: BaseClient[Any],
        name: Name,
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
    ) -> None:
        super().__init__(client, name, lease=lease, wait=wait)
        # The permits of `async with`, oldest first: epoch, task, permit.
        self._entered: list[tuple[int, Hashable, str]] = []

    async def try_set_permits(self, n: int) -> bool:
        """Set the number of permits; ``False``, and no change, if it has been set before."""
        count = checked_count("n", n, least=0)
        answer: int = await ask(self._core.start_try_set_permits, count)
        return answer == 1

    async def acquire(
        self,
        blocking: bool = True,
        timeout: Seconds | None = None,
        *,
        lease: Seconds | Unset | None = UNSET,
    ) -> str | None:
        """Take a permit; its id, 32 hex digits, or ``None`` when none was free in time.

        As ``holdfast.PermitSemaphore.acquire``. A task that is cancelled meanwhile leaves nothing
        behind.
        """
        seconds = checked_timeout(blocking, timeout)
        return await self._acquire(bool(blocking), seconds, self._lease_of(lease))

    async def _acquire(self, blocking: bool, seconds: float, lease: LeaseTime) -> str | None:
        loop = bridge()
        number = self._new_number(lease)
        permit = self._core.permit(number)
        operation = self._core.start_acquire(
            loop.queue, number, blocking, seconds, lease.ms, lease.renewed
        )
        undo = partial(self._core.start_release, loop.queue, permit)
        return permit.hex() if await loop.wait(operation, undo) else None

    async def release(self, permit: str) -> None:
        """Release a permit, as ``holdfast.PermitSemaphore.release``."""
        raw = checked_permit(permit)
        if await ask(self._core.start_release, raw) == 0:
            raise self._not_out(permit)

    async def try_release(self, permit: str) -> bool:
        """Release a permit of any client; ``False`` when it is unknown or has expired."""
        try:
            await self.release(permit)
        except NotOwnedError:
            return False
        return True

    async def extend(self, permit: str, lease: Seconds) -> bool:
        """Set a new fixed lease from now on; ``False`` when it is unknown or has expired.

        This client no longer renews it.
        """
        raw, ms = checked_permit(permit), milliseconds("lease", lease)
        answer: int = await ask(self._core.start_extend, raw, ms)
        return answer == 1

    async def available_permits(self) -> int:
        """The number of free permits, including those that have expired."""
        free: int = await ask(self._core.start_available_permits)
        return free

    async def delete(self) -> bool:
        """Remove the semaphore and all its permits; ``True`` if it was there."""
        answer: int = await ask(self._core.start_delete)
        return answer == 1

    async def __aenter__(self) -> str:
        permit = await self._acquire(True, self._wait, self._lease)
        if permit is None:
            raise self._timed_out()
        self._entered.append((_core.epoch(), current_task(), permit))
        return permit

    def _leave(self) -> str:
        """The current task's latest permit, else the oldest."""
        # A child of fork() must not release the permits of its parent.
        self._entered = [each for each in self._entered if each[0] == _core.epoch()]
        task = current_task()
        mine = [each for each in self._entered if each[1] is task] or self._entered[:1]
        if not mine:
            raise self._not_entered()
        self._entered.remove(mine[-1])
        return mine[-1][2]

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self.release(self._leave())
        except HoldfastError as error:
            if exc is None:
                raise
            self._note(exc, error)
