"""The slots for asyncio, the twins of those for threads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from holdfast._engine.arguments import (
    ACQUIRE_KEYWORDS,
    UNSET,
    Late,
    Seconds,
    Unset,
    checked_timeout,
    instead_of,
)
from holdfast._engine.errors import HoldfastError, NotOwnedError
from holdfast._locks.slots import (
    BaseSlot,
    BaseSlots,
    checked_slots,
    not_taken,
    slots_taken,
)
from holdfast._locks.task_lock import answered, end_block
from holdfast._locks.task_semaphores import Entered, PermitSemaphore
from holdfast._locks.task_steps import step

if TYPE_CHECKING:
    from holdfast._locks import holders as late
else:
    late = Late("holdfast._locks.holders")  # dataclasses are slow to import

__all__ = ["Slot", "Slots"]


class Slot(BaseSlot):
    """A slot that this process has been granted, by ``client.slots(…)``.

    Belongs to no task: any one may release it. A slot that no variable refers to is not renewed.
    """

    __slots__ = ()

    _slots: Slots

    async def release(self) -> None:
        """Release the slot, as ``holdfast.Slot.release``."""
        self._check_process()
        try:
            await self._slots._semaphore.release(self._permit)
        except NotOwnedError as error:
            self._released()
            raise self._about(error) from None
        self._released()

    async def extend(self, lease: Seconds) -> bool:
        """Set a new fixed lease from now on, as ``holdfast.Slot.extend``."""
        until = self._extending(lease)
        extended = await self._slots._semaphore.extend(self._permit, lease)
        self._extended(until if extended else 0.0)
        return extended


class SlotPermits(PermitSemaphore):
    """The permits of slots, in whose errors they are slots."""

    __slots__ = ()

    def _not_out(self, permit: str) -> NotOwnedError:
        return not_taken()


class Slots(BaseSlots):
    """Numbered slots, of which each has one owner at a time, shared by all that use the name.

    Made by ``client.slots(name, n)``: the twin of ``holdfast.Slots``.
    """

    __slots__ = ("_entered",)

    _released_word = "a slot of "
    _class = Slot
    _permits = SlotPermits
    _semaphore: SlotPermits

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._entered: Entered[Slot] = Entered()

    @instead_of(ACQUIRE_KEYWORDS)
    async def acquire(
        self,
        blocking: bool = True,
        timeout: Seconds | None = None,
        *,
        lease: Seconds | Unset | None = UNSET,
    ) -> Slot | None:
        """Take the lowest free slot, as ``holdfast.Slots.acquire``.

        A task that is cancelled while it waits leaves nothing behind.
        """
        seconds = checked_timeout(blocking, timeout)
        self._semaphore._lease_of(lease)
        return await self._take(bool(blocking), seconds, lease)

    async def _take(self, blocking: bool, seconds: float, lease: Any) -> Slot | None:
        if not self._compared:
            self._agreed(await self._send(*self._take_step()))
        end = time.monotonic() + seconds
        while True:
            left = seconds if seconds < 0 else max(0.0, end - time.monotonic())
            permit = await self._semaphore.acquire(
                blocking, left if blocking else None, lease=lease
            )
            if permit is None:
                return None
            try:
                reply = await self._send_take(permit)
                slot: Slot | None = self._assigned(permit, reply, block=False)
            except BaseException:
                await self._give_back(permit)
                raise
            if slot is not None:
                return slot
            await self._give_back(permit)  # it died before it had a slot

    async def _send_take(self, permit: str) -> Any:
        return await self._send(*self._take_step(permit))

    async def _send(self, word: str, keys: list[bytes], args: list[bytes]) -> Any:
        return await step(self._client._core, word, keys, args, self._key)

    async def _give_back(self, permit: str) -> None:
        with suppress(HoldfastError):  # it goes on in the background, or ends by itself
            await self._semaphore.release(permit)

    async def taken(self) -> dict[int, late.Holder]:
        """The slots that are taken, by any client, and who has each."""
        return await answered(self._holders(await self._send(*self._taken_step())))

    async def resize(self, n_or_values: int | Sequence[str]) -> None:
        """Change the number of slots, or their values, as ``holdfast.Slots.resize``."""
        self._describe(checked_slots("n_or_values", n_or_values))
        await self._send(*self._resize_step())
        await self._semaphore.set_permits(self._number)

    async def __aenter__(self) -> Slot:
        wait = self._semaphore._wait
        slot = await self._take(True, wait, UNSET)
        if slot is None:
            raise slots_taken(self.name, wait)
        self._entered.add(slot)
        return slot

    async def _leave(self) -> None:
        slot = self._entered.take()
        if slot is None:
            raise self._semaphore._not_entered()
        await slot.release()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await end_block(self, self._leave(), exc)
