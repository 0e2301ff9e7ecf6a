"""A hold as an object for asyncio: the twin of ``holdfast.Hold``."""

from __future__ import annotations

from asyncio import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import ref

from holdfast._arguments import UNSET, Seconds, Unset, milliseconds
from holdfast._errors import HoldfastError, LockLostError, NotOwnedError
from holdfast._hold import BaseHold, HoldWatching, checked, lock_of

from ._lock import TaskWatcher
from ._loop import bridge, request

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from holdfast._base_client import BaseClient

    from ._lock import Lock

__all__ = ["Hold", "acquire", "attach"]


class TaskHoldWatcher(HoldWatching, TaskWatcher):
    """Calls ``on_lost`` with a hold object, on the loop that acquired it."""

    __slots__ = ("_hold",)

    def __init__(self, hold: Hold) -> None:
        self._hold = ref(hold)
        super().__init__(hold.lock)


class Hold(BaseHold):
    """One acquisition of a lock as an object, which any task of the loop may use and end.

    Made by ``await lock.hold()``; as ``holdfast.Hold``, with ``async with hold:``.
    """

    __slots__ = ("_claimed",)

    lock: Lock

    def __init__(self, lock: Lock) -> None:
        super().__init__(lock)
        self._claimed = False

    def _claim(self) -> None:
        if self._claimed:
            raise self._ended_before()
        self._claimed = True

    def _unclaim(self) -> None:
        self._claimed = False

    async def release(self) -> None:
        """Free the lock, as ``holdfast.Hold.release``. Cancelling the task does not stop it."""
        self._claim()
        try:
            await self._core.start_release(bridge().queue, self._owner, True)
        except LockLostError as error:
            await self.lock._explained(error, self._owner)
        except NotOwnedError:
            raise
        except CancelledError:
            self._unwatch()
            raise
        except BaseException:
            self._unclaim()
            raise
        self._unwatch()

    async def extend(self, lease: Seconds) -> bool:
        """Set a new fixed lease from now on, no longer renewed; ``False`` when not held."""
        ms = milliseconds("lease", lease)
        answer: int = await request(self._core.start_extend, self._owner, ms)
        return answer == 1 and not self.lost

    async def detach(self, lease: Seconds = 30.0) -> str:
        """End the hold here without releasing it, as ``holdfast.Hold.detach``.

        A task that is cancelled in between holds it as before.
        """
        core, ms = self._passed_on(), milliseconds("lease", lease)
        queue = bridge().queue
        self._claim()
        try:
            await core.start_detach(queue, self._owner, ms)
            ticket = self._ticket(core)
            if not ticket:
                await core.start_release(queue, self._owner, True)
            return ticket
        except NotOwnedError:
            raise
        except BaseException:
            core.end_detach(self._owner, False)
            self._unclaim()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._detached:
            return  # a child of fork(): the hold is its parent's
        try:
            await self.release()
        except HoldfastError as error:
            if exc is None:
                raise
            self._note(exc, error)

    def _new_watcher(self) -> TaskHoldWatcher:
        return TaskHoldWatcher(self)


async def acquire(
    lock: Lock, wait: Seconds | Unset | None = UNSET, lease: Seconds | Unset | None = UNSET
) -> Hold:
    """Carry out ``lock.hold()``; a task that is cancelled while it waits leaves nothing behind."""
    waits, seconds, (ms, renewed) = checked(lock, wait, lease)
    queue = bridge().queue
    hold = Hold(lock)
    try:
        if not await hold._core.start_acquire(
            queue, hold._owner, waits, seconds, ms, renewed, hold._listener()
        ):
            raise lock._timed_out(max(seconds, 0.0))
        return hold
    except BaseException:
        # The traceback keeps the object alive for as long as the error is referenced.
        with suppress(ResourceWarning):
            hold._abandon()
        raise


async def attach(client: BaseClient, ticket: Any, lease: Any, on_lost: Any, name: Any) -> Hold:
    """Carry out ``client.attach()``; when cancelled, return the hold to the ticket."""
    lock = lock_of(client, ticket, lease, on_lost, name)
    core, (ms, renewed) = lock._core, lock._lease
    queue = bridge().queue
    hold = Hold(lock)
    try:
        await core.start_attach(queue, ticket, hold._owner, ms, renewed, hold._listener())
        return hold
    except BaseException:
        core.give_back(ticket, hold._owner)
        hold._unwatch()
        raise
