"""One of N: numbered slots, each of which one owner has at a time.

A slot is a permit of the permit semaphore of the same name, which the engine renews, the guard
returns, and whose loss is reported; and then a step on the server (``lua/slots/take.lua``) that
gives the permit the lowest slot that no permit in use has. What fails between the two gives the
permit back.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast
from weakref import ref

from holdfast import _core
from holdfast._clients.base import BaseClient
from holdfast._engine.arguments import (
    ACQUIRE_KEYWORDS,
    UNSET,
    Late,
    Name,
    Seconds,
    Unset,
    checked_callback,
    checked_count,
    checked_name,
    checked_timeout,
    instead_of,
    milliseconds,
)
from holdfast._engine.errors import (
    HoldfastError,
    LockTimeout,
    NotOwnedError,
    quoted,
)
from holdfast._locks.base import Synchronizer
from holdfast._locks.kinds import key_beside
from holdfast._locks.permit_semaphore import PermitSemaphore
from holdfast._locks.steps import step

if TYPE_CHECKING:
    from holdfast._locks import holders as late
    from holdfast._locks.holders import Asking, Holder
else:
    late = Late("holdfast._locks.holders")  # dataclasses are slow to import

__all__ = ["BaseSlot", "BaseSlots", "Slot", "Slots"]

#: Each acquire names all of them to the server.
MOST_SLOTS: Final = 1000
#: Of each value, in bytes.
LONGEST_VALUE: Final = 1024
#: Of a lease that is not renewed, what its owner trusts: the rest is for clocks that differ.
TRUSTED: Final = 0.99
MARGIN: Final = 0.002

#: The replies of lua/slots/take.lua that are no slot.
OTHER_NUMBER: Final = -1
OTHER_VALUES: Final = -2

Step = tuple[str, list[bytes], list[bytes]]

epoch_now = _core.epoch


def checked_slots(what: str, given: Any) -> tuple[str, ...] | int:
    """How many slots there are, or the value of each."""
    if isinstance(given, int):
        return checked_count(what, given, most=MOST_SLOTS)
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        msg = f"{what} must be int, or a list of str, not {type(given).__name__}"
        raise TypeError(msg)
    listed = cast("Sequence[object]", given)
    values = tuple(_checked_value(what, value) for value in listed)
    if not 1 <= len(values) <= MOST_SLOTS:
        msg = f"{what} must have 1 to {MOST_SLOTS} values, not {len(values)}"
        raise ValueError(msg)
    if len(set(values)) < len(values):
        twice = next(value for value in values if values.count(value) > 1)
        msg = f"{what} must have different values: {twice!r} is there twice"
        raise ValueError(msg)
    return values


def _checked_value(what: str, value: Any) -> str:
    if not isinstance(value, str):
        msg = f"{what} must have values of type str, not {type(value).__name__}"
        raise TypeError(msg)
    if len(checked_name(what, value)) > LONGEST_VALUE or "\n" in value:
        msg = f"{what} must have values of one line, of at most {LONGEST_VALUE} bytes"
        raise ValueError(msg)
    return value


def _boot_time() -> float:
    """Seconds that a suspended machine counts, too."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _shown(lines: str) -> str:
    """The values of slots, for a message."""
    return repr(lines.split("\n")) if lines else "none"


def read_holder(said: str, ttl: float) -> Holder:
    """The holder of a slot, as the taking client has described it."""
    from holdfast._locks.holders import Holder

    owner, pid, host = [*said.split(" ", 2), "", ""][:3]
    number = int(pid) if pid.isdecimal() else None
    return Holder(owner, None, 1, ttl, host=host or None, pid=number)


def _with_host(one: Holder, found: Holder) -> Holder:
    """The same with the host and the process of the grant, where its client does not say them."""
    from dataclasses import replace

    return one if one.host else replace(one, host=found.host, pid=found.pid)


class BaseSlot:
    """The common part of the slots for threads and for tasks."""

    __slots__ = (
        "__weakref__",
        "_epoch",
        "_permit",
        "_slots",
        "_until",
        "index",
        "token",
        "value",
    )

    #: Its number, from 0 on.
    index: int
    #: Its value; ``None`` where the slots have numbers only.
    value: str | None
    #: A number that grows with each grant of this slot: by it a resource refuses late owners.
    token: int

    def __init__(self, slots: BaseSlots, permit: str, index: int, token: int) -> None:
        self._slots = slots
        self._permit = permit
        self._epoch = epoch_now()
        #: After extend(): until when it is trusted.
        self._until: float | None = None
        self.index = index
        self.value = slots._values[index] if slots._values else None
        self.token = token

    @property
    def lost(self) -> bool:
        """Whether the slot is known to be gone, and has not been released; no command is sent.

        After ``extend()`` it is by the local clock alone; in a child of ``fork()`` it is.
        """
        if self._epoch != epoch_now():
            return True
        if self._until is not None:
            return _boot_time() >= self._until
        semaphore = self._slots._semaphore
        # Of the client's clock, before the loss is reported; and of a loss that was reported.
        known: bool = semaphore._core.known_lost(bytes.fromhex(self._permit))
        return known or self._permit in semaphore._gone

    def _about(self, error: NotOwnedError) -> NotOwnedError:
        return type(error)(f"slot {self.index} of {quoted(self._slots.name)}: {error}")

    def _check_process(self) -> None:
        if self._epoch != epoch_now():
            msg = (
                f"slot {self.index} of {quoted(self._slots.name)} belongs to the parent process: "
                "a child of fork() holds nothing"
            )
            raise NotOwnedError(msg)

    def _extending(self, lease: Seconds) -> float:
        """Check a new lease; until when it is trusted if it is granted now."""
        seconds = milliseconds("lease", lease) / 1000
        self._check_process()
        return _boot_time() + max(seconds / 2, seconds * TRUSTED - MARGIN)

    def _released(self) -> None:
        self._slots._taken.pop(self._permit, None)

    def _extended(self, until: float) -> None:
        self._slots._taken.pop(self._permit, None)
        self._until = until

    def __repr__(self) -> str:
        which = f"{self.index}" if self.value is None else f"{self.index} ({self.value!r})"
        state = " lost" if self.lost else ""
        return f"<Slot {which} of {quoted(self._slots.name)}{state}>"


class BaseSlots(Synchronizer):
    """The common part of the slots for threads and for tasks: everything except waiting."""

    __slots__ = (
        "_compared",
        "_key",
        "_number",
        "_on_lost",
        "_semaphore",
        "_taken",
        "_values",
    )

    _class: ClassVar[type[BaseSlot]]
    #: The class of their permits.
    _permits: ClassVar[Callable[..., Any]]

    _semaphore: Any

    def __init__(
        self,
        client: BaseClient,
        name: Name,
        n_or_values: int | Sequence[str],
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[Any], object] | None = None,
    ) -> None:
        super().__init__(client, name)
        checked_callback("on_lost", on_lost, asynchronous=client._asynchronous)
        self._on_lost = on_lost
        self._key = client.name_prefix + checked_name("name", name)
        self._describe(checked_slots("n_or_values", n_or_values))
        # By permit: the slot, and the epoch in which its last reference lets go of it, -1 for
        # that of a block. A slot that was released, or extended, is not there.
        self._taken: dict[str, tuple[ref[BaseSlot], int]] = {}
        self._semaphore = self._permits(
            client,
            name,
            permits=self._number,
            lease=lease,
            wait=wait,
            on_lost=None if on_lost is None else self._report,
        )

    def _describe(self, slots: tuple[str, ...] | int) -> None:
        """From now on this object's slots are these."""
        self._values = () if isinstance(slots, int) else slots
        self._number = slots if isinstance(slots, int) else len(slots)
        #: Whether the server's number and values have been found to be these.
        self._compared = False

    # ---- what is sent: the step's word, its keys and its arguments

    def _take_step(self, permit: str = "") -> Step:
        """``permit``: to be given a slot; empty: the number and the values are compared only."""
        keys = [self._key, key_beside("permit_timeouts", self._key), self._hash]
        owner = f"{self._client.id}:{self._number_of(permit)}" if permit else ""
        holder = f"{owner} {os.getpid()} {socket.gethostname()}".encode()
        raw = bytes.fromhex(permit)
        return "slots/take", keys, [raw, b"%d" % self._number, self._encoded_values, holder]

    def _taken_step(self) -> Step:
        return "slots/taken", [key_beside("permit_timeouts", self._key), self._hash], []

    def _resize_step(self) -> Step:
        keys = [key_beside("permit_timeouts", self._key), self._hash]
        return "slots/resize", keys, [b"%d" % self._number, self._encoded_values]

    @property
    def _hash(self) -> bytes:
        return key_beside("slots", self._key)

    @property
    def _encoded_values(self) -> bytes:
        return "\n".join(self._values).encode()

    def _number_of(self, permit: str) -> int:
        """The owner's number in a permit's id of this client; see ``recipes/step.cpp``."""
        mixed = int(_core.permit_id(self._client.id, 0)[16:], 16)
        return mixed ^ int(permit[16:], 16)

    # ---- what the replies mean

    def _agreed(self, reply: Any) -> None:
        """Raise what the server objects to: another number or other values."""
        verdict, said = reply
        if verdict == OTHER_NUMBER:
            msg = (
                f"{quoted(self.name)} has {said} {'slot' if said == 1 else 'slots'}, not "
                f"{self._number}: all its users must give the same number; resize() changes it"
            )
            raise ValueError(msg)
        if verdict == OTHER_VALUES:
            theirs, own = _shown(said.decode()), _shown("\n".join(self._values))
            msg = (
                f"the slots of {quoted(self.name)} have the values {theirs}, not {own}: all its "
                f"users must give the same; resize() changes them"
            )
            raise ValueError(msg)
        self._compared = True

    def _assigned(self, permit: str, reply: Any, *, block: bool) -> Any:
        """The slot that the permit has been given; ``None``: the permit is gone.

        ``block``: it is released by the end of a block, not with the last reference to it.
        """
        self._agreed(reply)
        place, token = reply
        if place < 0:
            return None
        slot = self._class(self, permit, place, int(token))
        for each, (earlier, _) in list(self._taken.items()):
            if earlier() is None:  # of a block, or an interrupt came
                self._dropped(each)
        # Without a function to call for a slot of a block: there an interrupt would be lost.
        dropped = None if block else partial(self._dropped, permit)
        self._taken[permit] = ref(slot, dropped), -1 if block else epoch_now()
        return slot

    def _dropped(self, permit: str, _: object = None) -> None:
        """No variable refers to it any more: it is not renewed, and expires with its lease."""
        _, epoch = self._taken.get(permit, (None, -1))
        if epoch == epoch_now():
            with suppress(HoldfastError):  # the client was closed
                self._semaphore._let_go([bytes.fromhex(permit)])
        self._taken.pop(permit, None)

    def _holders(self, reply: Any) -> Asking[dict[int, Holder]]:
        """Who has each slot, with what the clients say of themselves; see ``holders.py``."""
        from holdfast._locks.holders import named

        found = self._found(reply)
        said = yield from named(self._client._core, self._key, list(found.values()))
        return {
            place: _with_host(one, found[place]) for place, one in zip(found, said, strict=True)
        }

    def _found(self, reply: Any) -> dict[int, Holder]:
        holders: dict[int, Holder] = {}
        numbered = not self._values
        places = {word.encode(): place for place, word in enumerate(self._values)}
        for word, ms, holder in zip(reply[::3], reply[1::3], reply[2::3], strict=True):
            # Others are left from before a resize.
            place = places.get(word, int(word) if numbered and word.isdigit() else None)
            if place is not None:
                holders[place] = read_holder(holder.decode(errors="replace"), ms / 1000)
        return dict(sorted(holders.items()))

    def _report(self, permit: str) -> Any:
        """Of a permit that is lost, on the thread or loop of ``on_lost``."""
        known = self._taken.get(permit)
        slot = None if known is None else known[0]()
        return self._on_lost(slot) if self._on_lost is not None and slot is not None else None


class SlotPermits(PermitSemaphore):
    """The permits of slots, in whose errors they are slots."""

    __slots__ = ()

    _released_word = "a slot of "

    def _timed_out(self) -> LockTimeout:
        return slots_taken(self.name, self._wait)

    def _not_out(self, permit: str) -> NotOwnedError:
        return not_taken()


def slots_taken(name: Name, seconds: float) -> LockTimeout:
    """The error of a block that had no slot in time."""
    text = f"timed out after {seconds:g} s waiting for a slot of {quoted(name)}: all are taken"
    return LockTimeout(text)


def not_taken() -> NotOwnedError:
    return NotOwnedError("it was released, or has expired")


class Slot(BaseSlot):
    """A slot that this process has been granted, by ``client.slots(…)``.

    Belongs to no thread: any one may release it. A slot that no variable refers to is not renewed.
    """

    __slots__ = ()

    _slots: Slots

    def release(self) -> None:
        """Release the slot; waiters wake.

        Raises ``NotOwnedError`` when it was released or has expired, ``LockLostError``, a kind of
        that, (once) when this client renewed it and found it gone; ``ConnectionError`` when the
        server is out of reach: it may be called again.
        """
        self._check_process()
        try:
            self._slots._semaphore.release(self._permit)
        except NotOwnedError as error:
            self._released()
            raise self._about(error) from None
        self._released()

    def extend(self, lease: Seconds) -> bool:
        """Set a new fixed lease from now on; ``False`` when the slot was released or has expired.

        This client no longer renews it, and no longer calls ``on_lost`` for it.
        """
        until = self._extending(lease)
        extended = self._slots._semaphore.extend(self._permit, lease)
        self._extended(until if extended else 0.0)
        return extended


class NativeExit(property):
    """The native ``__exit__`` of the permits, as that of their slots.

    ``with`` finds it without code of Python, before which an interrupt could come; ``ExitStack``
    calls what it finds in the class.
    """

    def __call__(self, slots: Slots, *error: Any) -> None:
        slots._semaphore.__exit__(*error)


class Slots(BaseSlots):
    """Numbered slots, of which each has one owner at a time, shared by all that use the name.

    Made by ``client.slots(name, n)``. A slot is renewed until it is released, and free when its
    lease ends, also of a process that was killed.
    """

    __slots__ = ()

    _class = Slot
    _permits = SlotPermits
    _semaphore: SlotPermits

    @instead_of(ACQUIRE_KEYWORDS)
    def acquire(
        self,
        blocking: bool = True,
        timeout: Seconds | None = None,
        *,
        lease: Seconds | Unset | None = UNSET,
    ) -> Slot | None:
        """Take the lowest free slot; ``None`` when none was free in time.

        ``blocking``: ``False`` does not wait. ``timeout``: seconds to wait; ``None`` or -1 waits
        without limit. ``lease``: after how many seconds the slot is free; ``None``: it is renewed;
        by default that of ``client.slots(…)``.

        Raises ``TypeError``, ``ValueError`` or ``OverflowError`` for a bad argument, before
        anything is sent; ``ValueError`` where the name has another number of slots, or other
        values; ``ConnectionError`` and ``ServerError`` as the locks.
        """
        seconds = checked_timeout(blocking, timeout)
        self._semaphore._lease_of(lease)
        return self._take(bool(blocking), seconds, lease)

    def _take(self, blocking: bool, seconds: float, lease: Any) -> Slot | None:
        self._compare()
        end = time.monotonic() + seconds
        while True:
            left = seconds if seconds < 0 else max(0.0, end - time.monotonic())
            acquire = partial(self._semaphore.acquire, lease=lease)
            permits: list[str | None] = []
            try:
                # By the interpreter's own calls, between which no signal handler runs.
                permits.extend(map(acquire, (blocking,), (left if blocking else None,)))
                if permits[0] is None:
                    return None
                reply = self._send_take(permits[0])
                slot: Slot | None = self._assigned(permits[0], reply, block=False)
            except BaseException:
                self._give_back(permits)
                raise
            if slot is not None:
                return slot
            self._give_back(permits)  # it died before it had a slot

    def _compare(self) -> None:
        if not self._compared:
            self._agreed(self._send(*self._take_step()))

    def _send_take(self, permit: str) -> Any:
        return self._send(*self._take_step(permit))

    def _send(self, word: str, keys: list[bytes], args: list[bytes]) -> Any:
        return step(self._client._core, word, keys, args, self._key)

    def _give_back(self, permits: list[str | None]) -> None:
        for permit in permits:
            if permit is not None:
                with suppress(HoldfastError):  # it goes on in the background, or ends by itself
                    self._semaphore.release(permit)

    def taken(self) -> dict[int, late.Holder]:
        """The slots that are taken, by any client, and who has each."""
        from holdfast._locks.holders import answer

        return answer(self._holders(self._send(*self._taken_step())))

    def resize(self, n_or_values: int | Sequence[str]) -> None:
        """Change the number of slots, or their values; waiters wake.

        Slots in use stay so. Other objects and programs must then give the same: theirs raise
        ``ValueError``, unless they have a slot, which they keep.
        """
        self._describe(checked_slots("n_or_values", n_or_values))
        self._send(*self._resize_step())
        self._semaphore.set_permits(self._number)

    def __enter__(self) -> Slot:
        """Take a slot; after ``wait`` seconds it raises ``LockTimeout``."""
        self._compare()
        while True:
            permits: list[str] = []
            try:
                permits.extend(map(SlotPermits.__enter__, (self._semaphore,)))  # as in _take()
                reply = self._send_take(permits[0])
                slot: Slot | None = self._assigned(permits[0], reply, block=True)
                if slot is not None:
                    return slot
            except BaseException:
                self._leave(permits)
                raise
            self._leave(permits)  # it died before it had a slot

    def _leave(self, permits: list[str]) -> None:
        """Give back the permit of a block that has not begun, if there is one."""
        if permits:
            with suppress(HoldfastError):
                self._semaphore.__exit__(None, None, None)

    if TYPE_CHECKING:

        def __exit__(
            self,
            exc_type: type[BaseException] | None,
            exc: BaseException | None,
            traceback: TracebackType | None,
        ) -> None: ...

    else:
        __exit__ = NativeExit(
            attrgetter("_semaphore.__exit__"),
            doc="""Release the latest slot that the thread has entered with, else the oldest.

            An error of the body is raised; one of the release is added as a note, and logged.
            """,
        )
