"""Leader election for asyncio, the twin of that for threads."""

from __future__ import annotations

from asyncio import CancelledError, Task, gather, get_running_loop, wait
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from inspect import isawaitable
from time import monotonic
from types import TracebackType
from typing import Any, TypeVar

from holdfast._clients.base import BaseClient
from holdfast._engine.arguments import (
    Name,
    Seconds,
    Self,
    checked_timeout,
)
from holdfast._engine.errors import ConnectionError, HoldfastError, LockLostError, NotOwnedError
from holdfast._engine.loop import bridge
from holdfast._locks.leader import (
    BaseLeader,
    LeaderInfo,
    Value,
    checked_main,
    checked_value,
    left_of,
    said,
)
from holdfast._locks.task_lock import Hold, answered, end_block
from holdfast._locks.task_steps import Revision, step
from holdfast._locks.tasks import FencedLock

T = TypeVar("T")

__all__ = ["Leader", "LeaderInfo"]


class Leader(BaseLeader[Hold]):
    """A candidate for the leadership of a name, of which one at a time is elected.

    Made by ``client.leader(name)``. As ``holdfast.Leader``: one object is one candidate, which any
    task of the loop may use.
    """

    __slots__ = ("_main",)

    def __init__(
        self,
        client: BaseClient,
        name: Name,
        *,
        value: Value = None,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[Leader], object] | None = None,
    ) -> None:
        super().__init__(client, name, value=value, lease=lease, wait=wait, on_lost=on_lost)
        self._main: Task[Any] | None = None

    def _new_lock(self, lease: Seconds | None) -> FencedLock:
        return FencedLock(self._client, self.name, lease=lease, on_lost=self._hold_lost())

    def _leadership_lost(self) -> object:
        if self._main is not None:
            self._main.cancel()
        return super()._leadership_lost()

    async def campaign(self, timeout: Seconds | None = None) -> bool:
        """Wait until this object leads, as ``holdfast.Leader.campaign``.

        A task that is cancelled while it waits leaves nothing behind.
        """
        return await self._elect(checked_timeout(True, timeout))

    async def _elect(self, seconds: float) -> bool:
        if self.leading:
            return True
        queue = bridge().queue
        hold = Hold(self._lock)  # before the grant, so that a cancellation finds it
        try:
            with self._campaigning() as leads:
                if leads or not await hold._core.acquire(*self._attempt(hold, seconds)).start(
                    queue
                ):
                    hold._abandon()
                    return leads
                await self._announce(hold, self._value)
                self._hold = hold
                return True
        except BaseException as error:
            await self._give_back(hold, error)
            raise

    async def _give_back(self, hold: Hold, error: BaseException) -> None:
        """After a campaign that has failed: what it was granted."""
        if not hold._known_count():
            hold._abandon()
            return
        with suppress(HoldfastError):
            await self._withdraw(hold, not isinstance(error, ConnectionError))

    async def _announce(self, hold: Hold, value: bytes) -> None:
        if await step(self._client._core, "leader/set", *self._setting(hold, value)) == 0:
            raise self._no_leader(hold)

    async def resign(self) -> None:
        """Give the leadership up, as ``holdfast.Leader.resign``.

        Cancelling the task does not stop it.
        """
        hold = self._hold
        if hold is None:
            raise self._no_leader(None)
        try:
            await self._withdraw(hold, self.leading)
        except LockLostError:
            raise
        except NotOwnedError:  # it has resigned before
            raise self._no_leader(None) from None

    async def _withdraw(self, hold: Hold, announced: bool) -> None:
        """Release the lock; where the leader may be ``announced``, remove that before."""
        try:
            if announced:
                with suppress(HoldfastError):  # observers ask again when its lease would end
                    await step(self._client._core, "leader/withdraw", *self._withdrawal(hold))
        finally:
            await hold.release()

    async def set_value(self, value: str | bytes | None) -> None:
        """Announce another value, as ``holdfast.Leader.set_value``."""
        kept = checked_value(value)
        await self._announce(self._leading_hold(), kept)
        self._value = kept

    async def current(self) -> LeaderInfo | None:
        """The leader, whichever candidate that is; ``None``: no candidate leads."""
        return (await self._read())[1]

    async def _read(self) -> tuple[int, LeaderInfo | None]:
        revision, asking = self._told(await step(self._client._core, *self._reading()))
        return revision, await answered(asking) if asking is not None else None

    def watch(self, timeout: Seconds | None = None) -> AsyncIterator[LeaderInfo | None]:
        """The leader now, and then each other one, as ``holdfast.Leader.watch``."""
        seconds = checked_timeout(True, timeout)
        return self._watch(None if seconds < 0 else monotonic() + seconds)

    async def _watch(self, deadline: float | None) -> AsyncIterator[LeaderInfo | None]:
        changes = Revision(self._client, self.name)
        revision, info = await self._read()
        yield info
        while await changes.wait(revision, left_of(deadline)):
            before = info
            revision, info = await self._read()
            if said(info) != said(before):
                yield info

    async def run(self, main: Callable[[Leader], Coroutine[Any, Any, T]]) -> T:
        """Campaign, and run ``main`` with this object; again whenever the leadership was lost.

        ``main`` runs as a task, which is cancelled at the loss. When it returns while it leads,
        this resigns, and returns the same. An error of ``main`` is raised after resigning; so is
        the cancellation of the calling task, which cancels ``main``.
        """
        checked_main(main, asynchronous=True)
        while True:
            await self._elect(-1.0)
            task = get_running_loop().create_task(self._call(main))
            await self._end_of(task)
            try:
                result = task.result()
            except BaseException as error:
                if await self._leave(error) and isinstance(error, CancelledError | LockLostError):
                    continue
                raise
            if not await self._is_over():
                return result

    async def _call(self, main: Callable[[Leader], Coroutine[Any, Any, T]]) -> T:
        term: Any = main(self)
        if not isawaitable(term):
            msg = (
                f"main must be a coroutine function: {main!r} returned an object of the type "
                f"{type(term).__name__}, which cannot be awaited"
            )
            raise TypeError(msg)
        result: T = await term
        return result

    async def _end_of(self, task: Task[Any]) -> None:
        """Wait until ``main`` has ended; cancel it at the loss, and with the calling task."""
        self._main = task
        if self.lost:
            task.cancel()
        try:
            await wait({task})
        except CancelledError as error:
            task.cancel()
            try:
                await gather(task, return_exceptions=True)
            finally:  # also where it is cancelled again while main cleans up
                await self._leave(error)
            raise
        finally:
            self._main = None

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

    async def _end(self, body: BaseException | None) -> None:
        """Resign at the end of a block; an error of it must not hide the block's."""
        await end_block(self, self.resign(), body)

    async def __aenter__(self) -> Self:
        """Campaign for ``wait`` seconds, then raise ``LockTimeout``."""
        if not await self._elect(self._wait):
            await self._lock._raise_timed_out(self._wait)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Resign. An error of the body is raised; one of ``resign`` is added to it as a note."""
        await self._end(exc)
