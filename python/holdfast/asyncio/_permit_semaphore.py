"""The semaphore whose permits have ids and expire, for asyncio."""

from __future__ import annotations

from asyncio import current_task
from functools import partial
from typing import TYPE_CHECKING

from holdfast._arguments import (
    UNSET,
    LeaseTime,
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

__all__ = ["PermitSemaphore"]


class PermitSemaphore(BasePermitSemaphore):
    """A semaphore whose permits have ids and come back by themselves when their lease is over.

    Made by ``client.permit_semaphore(name)``: the twin of ``holdfast.PermitSemaphore``. A permit
    belongs to whoever has its id, not to a task.
    """

    __slots__ = ()

    def _caller(self) -> Hashable:
        return current_task()

    async def try_set_permits(self, n: int) -> bool:
        """Say how many permits there are; ``False`` when that was said before: nothing changes."""
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
        """Give a permit back, as ``holdfast.PermitSemaphore.release``."""
        raw = checked_permit(permit)
        self._check_released(permit, await ask(self._core.start_release, raw))

    async def try_release(self, permit: str) -> bool:
        """Give a permit back, whoever has taken it; ``False`` when it is unknown or has expired."""
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
        """The permits that are free, once those that have expired are counted back."""
        free: int = await ask(self._core.start_available_permits)
        return free

    async def delete(self) -> bool:
        """Remove the semaphore and all its permits; ``True`` if it was there."""
        answer: int = await ask(self._core.start_delete)
        return answer == 1

    async def __aenter__(self) -> str:
        return self._enter(await self._acquire(True, self._wait, self._lease))

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
