"""Leader election for tasks, the twin of that for threads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast._engine.arguments import (
    Seconds,
    Self,
    checked_timeout,
)
from holdfast._engine.errors import HoldfastError, LockLostError
from holdfast._locks.holders import Holder
from holdfast._locks.leader import (
    BaseLeader,
    Campaign,
    LeaderInfo,
    checked_main,
    said,
)
from holdfast._locks.steps import time_of, without_limit
from holdfast._locks.task_lock import Hold
from holdfast._locks.task_steps import Block, drive, end_block
from holdfast._locks.tasks import FencedLock

if TYPE_CHECKING:
    from holdfast._core import CallersTime

T = TypeVar("T")


# Made by tools/tasks.py: LeaderLock


class LeaderLock(FencedLock):
    """The lock of a leader for tasks; its release withdraws what the leader has announced."""

    __slots__ = ()

    _kind = "leader"
    _word = "leader"
    _hold_word = "leader"


# By hand:


class Leader(BaseLeader[Hold], Block):
    """A candidate for the leadership of a name, of which one at a time is elected.

    Made by ``client.leader(name)``. One object is one candidate, which any task of the loop may
    use. The leadership is that of ``client.fenced_lock(name)``: renewed while the object is there,
    and over with its lease if the process dies.
    """

    __slots__ = ()

    def _new_lock(self, **options: Any) -> LeaderLock:
        return LeaderLock(self._client, self.name, on_lost=self._hold_lost(), **options)

    def _leadership_lost(self) -> object:
        if self._term is not None:
            self._term.cancel()
        return super()._leadership_lost()

    async def run(self, main: Callable[[Leader], Coroutine[Any, Any, T]]) -> T:
        """Campaign, and run ``main`` with this object; again whenever the leadership was lost.

        ``main`` runs in the calling task, and is cancelled at the loss. When it returns while it
        leads, this resigns, and returns the same. An error of ``main`` is raised after resigning;
        so is the cancellation of the task.
        """
        checked_main(main, asynchronous=True)
        while True:
            await self.campaign()
            term = self._term = self._client._loops.Term()
            if self.lost:
                term.cancel()
            try:
                result = await self._call(main)
            except BaseException as error:
                self._term = None
                rest = term.end(error)
                lost = rest is None or isinstance(rest, LockLostError)
                if await self._leave(rest or error) and lost:
                    continue
                if rest is None or rest is error:
                    raise
                raise rest from None
            self._term = None
            term.end(None)
            if not await self._is_over():
                return result

    async def _call(self, main: Callable[[Leader], Coroutine[Any, Any, T]]) -> T:
        called: Any = main(self)
        if not isawaitable(called):
            msg = (
                f"main must be a coroutine function: {main!r} returned an object of the type "
                f"{type(called).__name__}, which cannot be awaited"
            )
            raise TypeError(msg)
        result: T = await called
        return result

    async def _end(self, body: BaseException | None) -> None:
        """Resign at the end of a block; an error of it must not hide the block's."""
        await end_block(self, self.resign(), body)

    def _at_end(self) -> Coroutine[Any, Any, None]:
        return self.resign()

    # Made by tools/tasks.py, with _new_hold, _watch, _is_over, _leave, __aenter__

    def _new_hold(self, lock: LeaderLock) -> Hold:
        return Hold(lock)

    async def campaign(self, timeout: Seconds | None = None) -> bool:
        """Wait until this object leads; ``False`` if another one still does after ``timeout``.

        ``timeout``: seconds, 0 not to wait, ``None`` without limit. ``True`` at once while it
        leads. A task that is cancelled while it waits leaves nothing behind.

        Raises ``TypeError`` or ``ValueError`` for a bad argument, before anything is sent;
        ``ConnectionError`` when no server answers within ``timeout`` and the command time-out;
        ``ServerError`` when it refuses; ``LockLostError`` when its lease was over before the
        caller had it; ``RuntimeError`` while another task campaigns with this object.
        """
        seconds, campaign = checked_timeout(True, timeout), Campaign[Hold]()
        try:
            return campaign.end(
                self, elected=await drive(self._client, self._elect(campaign, seconds))
            )
        except BaseException:  # an interrupt, too, before the caller knew
            campaign.end(self, elected=False)
            raise

    async def resign(self) -> None:
        """Give the leadership up; the next candidate is elected at once.

        Cancelling the task does not stop it. Raises ``NotOwnedError`` when it does not lead,
        ``LockLostError`` (once) when that was lost, ``ConnectionError`` when the server is out of
        reach: then the release goes on in the background until the lease is over, and ``resign``
        may be called again.
        """
        await drive(self._client, self._resign())

    async def set_value(self, value: str | bytes | None) -> None:
        """Announce another value.

        Raises ``TypeError`` or ``ValueError`` for a value that is too long, before anything is
        sent; ``NotOwnedError`` when this object does not lead, ``LockLostError`` when that was
        lost; ``ConnectionError``: either value may be announced, as after a cancellation.
        """
        await drive(self._client, self._set_value(value))

    async def current(self) -> LeaderInfo | None:
        """The leader, whichever candidate that is; ``None``: no candidate leads."""
        _, info = await drive(self._client, self._read(without_limit(self._client._core)))
        return info

    async def holders(self) -> list[Holder]:
        """The leader, if there is one, with what its client says; see ``Lock.holders``."""
        return await drive(self._client, self._lock._holders())

    def watch(self, timeout: Seconds | None = None) -> AsyncIterator[LeaderInfo | None]:
        """The leader now, and then each other one, or ``None``, as it is announced.

        It waits for the server's messages. Of changes that follow each other quickly it may show
        the last one only. It ends after ``timeout`` seconds, with 0 after the first one; ``None``:
        never.

        Raises ``ConnectionError`` and ``ServerError`` while it waits.
        """
        time = time_of(self._client._core, checked_timeout(True, timeout))
        return self._watch(time)

    async def _watch(self, time: CallersTime) -> AsyncIterator[LeaderInfo | None]:
        found = await drive(self._client, self._read(time))
        yield found[1]
        while (other := await drive(self._client, self._next(found[0], time))) is not None:
            if said(other[1]) != said(found[1]):
                yield other[1]
            found = other

    async def _is_over(self) -> bool:
        """Resign after ``main`` has returned; whether the leadership was lost before."""
        if not self.leading and not self.lost:
            return False  # main has resigned
        try:
            await self.resign()
        except LockLostError:
            return True
        return False

    async def _leave(self, error: BaseException) -> bool:
        """The same after an error of ``main``."""
        if self.lost:
            with suppress(HoldfastError):
                await self.resign()
            return True
        if self.leading:
            await self._end(error)
        return False

    async def __aenter__(self) -> Self:
        """Campaign for ``wait`` seconds, then raise ``LockTimeout``."""
        campaign: Campaign[Hold] = Campaign()
        try:
            if not campaign.end(
                self, elected=await drive(self._client, self._elect(campaign, self._wait))
            ):
                await self._lock._raise_timed_out(self._wait)
            return self
        except BaseException:
            campaign.end(self, elected=False)
            raise
