"""The barrier for tasks, the twin of the one for threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from holdfast._engine.arguments import Late, Seconds
from holdfast._locks.barrier import BaseBarrier
from holdfast._locks.task_semaphores import PermitSemaphore
from holdfast._locks.task_steps import drive

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from holdfast._locks import holders as late
else:
    late = Late("holdfast._locks.holders")  # dataclasses are slow to import

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

    def __bool__(self) -> bool:
        msg = "this asks the server: await it before its truth is tested"
        raise TypeError(msg)


# Made by tools/tasks.py: Parties


class Parties(PermitSemaphore):
    """The permits of the parties of a barrier."""

    __slots__ = ()

    _kind = "barrier"
    _hold_word = "party of the barrier"
    _reports_itself = True


# By hand:


class Barrier(BaseBarrier):
    """A barrier at which a number of parties wait for each other, shared by all processes.

    Made by ``client.barrier(name, parties)``; it is used as ``threading.Barrier``, any number of
    times. Each call of ``wait()`` is a party. ``n_waiting`` and ``broken`` are awaited.
    """

    __slots__ = ()

    _permits = Parties

    @property
    def n_waiting(self) -> Asked[int]:
        """How many parties wait: ``await barrier.n_waiting``."""
        return Asked(self._look, 0, int)

    @property
    def broken(self) -> Asked[bool]:
        """Whether it is broken, also by a party that has died: ``await barrier.broken``."""
        return Asked(self._look, 1, bool)

    async def _look(self) -> list[int]:
        said: list[int] = await drive(self._client, self._whole("look"))
        return said

    # Made by tools/tasks.py

    async def wait(self, timeout: Seconds | None = None) -> int:
        """Wait until all parties do; the number of this party, from 0 on, each once.

        ``timeout``: seconds, ``None`` waits without limit; 0 does not wait, which breaks it unless
        this is the last party. With a fixed ``lease`` a wait that is longer counts as a dead party:
        a ``RuntimeWarning`` says so once. A task that is cancelled while it waits breaks the
        barrier for the others.

        Raises ``BrokenBarrierError`` when the barrier is broken, or is while it waits: a party
        timed out, was interrupted or cancelled, died, or called ``abort()`` or ``reset()``. Raises
        ``ValueError`` where other parties that wait have given another number of them,
        ``ConnectionError`` and ``ServerError`` as the locks.
        """
        return await drive(self._client, self._wait(self._checked_time(timeout)))

    async def abort(self) -> None:
        """Break the barrier: all that wait, and those that come before ``reset()``, get the error.

        Raises ``ConnectionError`` when the server is out of reach: it may be called again.
        """
        await drive(self._client, self._whole("abort"))

    async def reset(self) -> None:
        """Mend the barrier; those that wait get ``BrokenBarrierError``."""
        await drive(self._client, self._whole("reset"))

    async def holders(self) -> list[late.Holder]:
        """The parties that wait, the first to arrive first, with what their clients say."""
        return await drive(self._client, self._holders())
