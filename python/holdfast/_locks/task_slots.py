"""The slots for tasks, the twins of those for threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast._engine.arguments import (
    ACQUIRE_KEYWORDS,
    UNSET,
    Late,
    Seconds,
    Unset,
    checked_label,
    checked_timeout,
    instead_of,
)
from holdfast._engine.errors import NotOwnedError
from holdfast._locks.slots import (
    BaseSlot,
    BaseSlots,
    Taken,
    not_taken,
)
from holdfast._locks.steps import time_of
from holdfast._locks.task_semaphores import Entered, PermitSemaphore
from holdfast._locks.task_steps import Block, drive

if TYPE_CHECKING:
    from holdfast._locks import permit_holders as late
else:
    late = Late("holdfast._locks.permit_holders")  # dataclasses are slow to import


# Made by tools/tasks.py: Slot, SlotPermits


class Slot(BaseSlot):
    """A slot that this process has been granted, by ``client.slots(…)``.

    Belongs to no task: any one may release it. A slot that no variable refers to is not renewed.
    """

    __slots__ = ()

    _slots: Slots

    async def release(self) -> None:
        """Release the slot; waiters wake. Cancelling the task does not stop it.

        Raises ``NotOwnedError`` when it was released or has expired, ``LockLostError``, a kind of
        that, (once) when this client renewed it and found it gone; ``ConnectionError`` when the
        server is out of reach: it may be called again.
        """
        self._check_process()
        try:
            await self._slots._semaphore.release(self._permit)
        except NotOwnedError as error:
            self._released()
            raise self._about(error) from None
        self._released()

    async def extend(self, lease: Seconds) -> bool:
        """Set a new fixed lease from now on; ``False`` when the slot was released or has expired.

        ``lease``: seconds. This client no longer renews it, even if this fails. Once it is
        extended no ``on_lost`` is called for it.
        """
        self._check_process()
        extended = await self._slots._semaphore.extend(self._permit, lease)
        self._extended = self._extended or extended
        return extended


class SlotPermits(PermitSemaphore):
    """The permits of slots, in whose errors they are slots."""

    __slots__ = ()

    _kind = "slots"
    _hold_word = "slot"

    _released_word = "a slot of "

    def _not_out(self, permit: str) -> NotOwnedError:
        return not_taken()


# By hand:


class Slots(BaseSlots, Block):
    """Numbered slots, of which each has one owner at a time, shared by all that use the name.

    Made by ``client.slots(name, n)``. A slot is renewed until it is released, and free when its
    lease ends, also of a process that was killed.
    """

    __slots__ = ("_entered",)

    _released_word = "a slot of "
    _class = Slot
    _permits = SlotPermits
    _semaphore: SlotPermits

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._entered: Entered[Slot] = Entered(self._client)

    def _enter(self, taken: Taken) -> None:
        self._entered.add(taken.slot)
        taken.grant.keeping.keep()

    def _undo_enter(self, taken: Taken) -> None:
        self._entered.drop(taken.slot)
        taken.grant.keeping.undo()

    async def _at_end(self) -> None:
        slot = self._entered.take()
        if slot is None:
            raise self._semaphore._not_entered()
        await slot.release()

    # Made by tools/tasks.py, with __aenter__

    @instead_of(ACQUIRE_KEYWORDS)
    async def acquire(
        self,
        blocking: bool = True,
        timeout: Seconds | None = None,
        *,
        lease: Seconds | Unset | None = UNSET,
        label: str | None = None,
    ) -> Slot | None:
        """Take the lowest free slot; ``None`` when none was free in time.

        ``blocking``: ``False`` does not wait. ``timeout``: seconds to wait; ``None`` or -1 waits
        without limit. ``lease``: after how many seconds the slot is free; ``None``: it is renewed;
        by default that of ``client.slots(…)``. ``label``: what it is for, instead of that of
        ``client.slots(…)``. A task that is cancelled while it waits leaves nothing behind.

        Raises ``TypeError``, ``ValueError`` or ``OverflowError`` for a bad argument, before
        anything is sent; ``ValueError`` where the name has another number of slots, or other
        values; ``ConnectionError`` and ``ServerError`` as the locks.
        """
        seconds = checked_timeout(blocking, timeout)
        given, said = self._semaphore._lease_of(lease), checked_label(label)
        time = time_of(self._client._core, seconds, blocking=blocking)
        taken: Taken | None = None
        try:
            taken = await drive(self._client, self._acquire(given, time, block=False, label=said))
            slot: Slot | None = taken.keep() if taken is not None else None
            return slot
        except BaseException:  # an interrupt came before the caller had it
            if taken is not None:
                taken.undo()
            raise

    async def taken(self) -> dict[int, late.Holder]:
        """The slots that are taken, by any client, and who has each."""
        return await drive(self._client, self._read_taken())

    async def holders(self) -> list[late.Holder]:
        """The same as a list, in the order of the slots."""
        return await drive(self._client, self._read_holders())

    async def resize(self, n_or_values: int | Sequence[str]) -> None:
        """Change the number of slots, or their values; waiters wake.

        Slots in use stay so. Other objects and programs must then give the same: theirs raise
        ``ValueError``, unless they have a slot, which they keep.
        """
        await drive(self._client, self._resize(n_or_values))

    async def __aenter__(self) -> Slot:
        """Take a slot; after ``wait`` seconds it raises ``LockTimeout``."""
        wait = self._semaphore._wait
        time = time_of(self._client._core, wait)
        taken: Taken | None = None
        try:
            taken = await drive(
                self._client, self._acquire(self._semaphore._lease, time, block=True)
            )
            if taken is None:
                raise await drive(self._client, self._none_free(wait))
            slot: Slot = taken.keep()
            return slot
        except BaseException:  # as in acquire()
            if taken is not None:
                taken.undo()
            raise
