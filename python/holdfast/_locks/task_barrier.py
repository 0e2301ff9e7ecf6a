"""The barrier for asyncio, the twin of the one for threads."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from holdfast._engine.arguments import Seconds, checked_timeout
from holdfast._engine.errors import HoldfastError, NotOwnedError
from holdfast._locks.barrier import BaseBarrier, Outcome
from holdfast._locks.task_semaphores import PermitSemaphore
from holdfast._locks.task_steps import Revision, step

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

__all__ = ["Barrier"]

T = TypeVar("T")


class Asked(Generic[T]):
    """An attribute that asks the server once it is awaited; a call of it is the same.

    No coroutine: one that a debugger reads and does not await warns of nothing.
    """

    __slots__ = ("_look", "_place", "_type")

    def __init__(
        self, look: Callable[[], Coroutine[Any, Any, list[int]]], place: int, of: Callable[[int], T]
    ) -> None:
        self._look = look
        self._place = place
        self._type = of

    def __await__(self) -> Generator[Any, Any, T]:
        return self._type((yield from self._look().__await__())[self._place])

    def __call__(self) -> Asked[T]:
        return self


class Barrier(BaseBarrier):
    """A barrier at which a number of parties wait for each other, shared by all processes.

    Made by ``client.barrier(name, parties)``: the twin of ``holdfast.Barrier``. ``n_waiting`` and
    ``broken`` are awaited calls here.
    """

    __slots__ = ()

    _permits = PermitSemaphore
    _revisions = Revision

    async def wait(self, timeout: Seconds | None = None) -> int:
        """Wait until all parties do, as ``holdfast.Barrier.wait``.

        A task that is cancelled while it waits breaks the barrier for the others.
        """
        seconds = checked_timeout(True, timeout)
        while True:
            outcome = None
            there = False
            try:
                async with self._semaphore as permit:
                    outcome = Outcome(self.name, permit, seconds)
                    there = await self._wait(outcome)
            except HoldfastError as error:
                # Else of the release: it goes on in the background, or the permit has died.
                if not there and not isinstance(error, NotOwnedError):
                    raise
            if there and outcome is not None:
                return outcome.index()

    async def _wait(self, outcome: Outcome) -> bool:
        """``False``: the permit died before its party was there."""
        try:
            while True:
                reply = await self._send(*self._arrive_step(outcome))
                if not outcome.arrived(reply, self._parties):
                    return False
                if outcome.revision is None:
                    break
                outcome.waits = await self._revision.wait(outcome.revision, outcome.left())
        except BaseException:
            with suppress(HoldfastError):  # the others find it dead at the end of its lease
                await self._send(*self._leave_step(outcome))
            raise
        with suppress(HoldfastError):  # what stays of it goes with the next party
            await self._send(*self._leave_step(outcome))
        return True

    async def _send(self, word: str, keys: list[bytes], args: list[bytes]) -> Any:
        return await step(self._client._core, word, keys, args, self._keys.name)

    async def abort(self) -> None:
        """Break the barrier, as ``holdfast.Barrier.abort``."""
        await self._send(*self._whole_step("abort"))

    async def reset(self) -> None:
        """Mend the barrier, as ``holdfast.Barrier.reset``."""
        await self._send(*self._whole_step("reset"))

    @property
    def n_waiting(self) -> Asked[int]:
        """How many parties wait: ``await barrier.n_waiting``."""
        return Asked(self._look, 0, int)

    @property
    def broken(self) -> Asked[bool]:
        """Whether it is broken, also by a party that has died: ``await barrier.broken``."""
        return Asked(self._look, 1, bool)

    async def _look(self) -> list[int]:
        said: list[int] = await self._send(*self._whole_step("look"))
        return said
