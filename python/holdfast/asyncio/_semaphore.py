"""The semaphore for asyncio: the twin of ``holdfast.Semaphore``."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType

from holdfast._arguments import (
    ACQUIRE_KEYWORDS,
    MOST,
    Seconds,
    Self,
    checked_count,
    checked_timeout,
    instead_of,
    refuse_deferring,
)
from holdfast._errors import HoldfastError, LockTimeout
from holdfast._semaphore import BaseSemaphore
from holdfast._synchronizer import Permits

from ._loop import request

__all__ = ["Semaphore", "TaskPermits"]


class TaskPermits(Permits):
    """The common part of the two semaphores for tasks."""

    __slots__ = ()

    async def _timed_out(self) -> LockTimeout:
        exists: bool | None = None
        with suppress(HoldfastError):  # the time-out is what matters
            exists = await request(self._core.start_late_value) is not None
        return self._timeout(exists)

    async def _check_number(self) -> None:
        if self._number_checked:
            return
        with suppress(HoldfastError):  # the time-out is what matters
            self._warn_unless(await request(self._core.start_late_value) is not None)


class Semaphore(BaseSemaphore, TaskPermits):
    """A counter of free permits, shared by all processes that use its name.

    Made by ``client.semaphore(name)``. As ``holdfast.Semaphore``: permits have no owner.
    """

    __slots__ = ()

    async def try_set_permits(self, n: int) -> bool:
        """Create the semaphore with ``n`` permits; ``False`` if it exists with any number."""
        count = checked_count("n", n, least=0)
        with self._setting(count):
            return self._set(count, await request(self._core.start_call, "try_set_permits", count))

    @instead_of(ACQUIRE_KEYWORDS)
    async def acquire(
        self, blocking: bool = True, timeout: Seconds | None = None, *, permits: int = 1
    ) -> bool:
        """Take ``permits`` at once, all or none; ``True`` if they were taken.

        As ``holdfast.Semaphore.acquire``. A task that is cancelled while it waits has taken
        nothing.
        """
        seconds = checked_timeout(blocking, timeout)
        granted = await self._acquire(checked_count("permits", permits), bool(blocking), seconds)
        if blocking and not granted:
            await self._check_number()
        return granted

    async def _acquire(self, permits: int, blocking: bool, seconds: float) -> bool:
        granted: bool = await request(self._core.start_acquire, permits, blocking, seconds)
        return granted

    async def release(self, n: int = 1, *, wait: bool = True) -> None:
        """Release ``n`` permits, as ``holdfast.Semaphore.release``.

        Cancelling the task does not stop it.
        """
        refuse_deferring("Semaphore", wait)
        await request(self._core.start_call, "release", checked_count("n", n))

    async def release_if_exists(self, n: int = 1) -> bool:
        """Release ``n`` permits as ``release``; ``False``, and no change, if none were ever set."""
        answer: int = await request(
            self._core.start_call, "release_if_exists", checked_count("n", n)
        )
        return answer == 1

    async def available_permits(self) -> int:
        """The number of free permits; negative when more were removed than were free."""
        free: int | None = await request(self._core.start_value)
        return free or 0

    async def drain_permits(self) -> int:
        """Take all free permits and return their number."""
        free: int = await request(self._core.start_call, "drain_permits", 0)
        return free

    async def add_permits(self, n: int) -> None:
        """Change the number of permits by ``n``, which may be negative; waiters wake."""
        count = checked_count("n", n, least=-MOST)
        with self._expecting(self._core.expect_more(count)):
            await request(self._core.start_call, "add_permits", count)

    async def delete(self) -> bool:
        """Remove the semaphore from the server; ``False`` when it did not exist."""
        answer: int = await request(self._core.start_call, "delete", 0)
        return answer == 1

    async def __aenter__(self) -> Self:
        if not await self._acquire(1, True, self._wait):
            raise await self._timed_out()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self.release()
        except HoldfastError as error:
            if exc is None:
                raise
            self._note(exc, error)
