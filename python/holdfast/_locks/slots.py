"""One of N: numbered slots, each of which one owner has at a time.

A slot is a permit of the permit semaphore of the same name, which the engine renews, the guard
returns, and whose loss is reported. The step that takes it (``lua/slots/acquire.lua``) gives it the
lowest slot that no permit in use has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast
from weakref import ref

from holdfast import _core
from holdfast._engine.arguments import (
    ACQUIRE_KEYWORDS,
    UNSET,
    Late,
    LeaseTime,
    Name,
    Seconds,
    Unset,
    checked_callback,
    checked_count,
    checked_label,
    checked_name,
    checked_timeout,
    instead_of,
)
from holdfast._engine.errors import (
    HoldfastError,
    LockTimeout,
    NotOwnedError,
    quoted,
)
from holdfast._engine.process import AnyClient
from holdfast._locks.base import Synchronizer, held_by, in_doubt
from holdfast._locks.fields import checked_text
from holdfast._locks.kinds import key_beside
from holdfast._locks.permit_semaphore import Granting, PermitSemaphore, here
from holdfast._locks.steps import Steps, run, step, time_of, time_over, without_limit

if TYPE_CHECKING:
    from holdfast._core import CallersTime, Exchange
    from holdfast._locks import permit_holders as late
    from holdfast._locks.holders import Holder
else:
    late = Late("holdfast._locks.permit_holders")  # dataclasses are slow to import

#: Each acquire names all of them to the server.
MOST_SLOTS: Final = 1000
#: Of each value, in bytes.
LONGEST_VALUE: Final = 1024

#: The replies of lua/slots/acquire.lua that are no slot.
OTHER_NUMBER: Final = -1
OTHER_VALUES: Final = -2

epoch_now = _core.epoch


class Table:
    """The slots as an object describes them; immutable but for whether the server agrees.

    A call takes it once: its step is made of it, and the reply is read by it.
    """

    __slots__ = ("agreed", "encoded", "number", "terms", "values")

    def __init__(self, slots: tuple[str, ...] | int) -> None:
        #: Of each slot; empty: they have numbers only.
        self.values = () if isinstance(slots, int) else slots
        self.number = slots if isinstance(slots, int) else len(slots)
        self.encoded = "\n".join(self.values).encode()
        #: The arguments of the scripts that compare or change it, and what this object takes.
        self.terms = str(self.number).encode(), self.encoded
        #: Whether the server has found its own number and values to be these.
        self.agreed = False


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


def _shown(lines: str) -> str:
    """The values of slots, for a message."""
    return repr(lines.split("\n")) if lines else "none"


class BaseSlot:
    """The common part of the slots for threads and for tasks."""

    __slots__ = (
        "__weakref__",
        "_epoch",
        "_extended",
        "_over",
        "_permit",
        "_slots",
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

    def __init__(self, slots: BaseSlots, table: Table, permit: str, reply: list[Any]) -> None:
        index, token, *_ = reply
        self._slots = slots
        self._permit = permit
        self._epoch = epoch_now()
        #: It was released.
        self._over = False
        #: It has had a fixed lease since: no loss of it is reported.
        self._extended = False
        self.index = index
        self.value = table.values[index] if table.values else None
        self.token = int(token)

    @property
    def lost(self) -> bool:
        """Whether the slot is known to be gone, and has not been released; no command is sent.

        At the end of its lease it is, by the local clock; in a child of ``fork()`` always.
        """
        if self._epoch != epoch_now():
            return True
        if self._over:
            return False
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

    def _released(self) -> None:
        self._over = True
        self._slots._taken.pop(self._permit, None)

    def __repr__(self) -> str:
        which = f"{self.index}" if self.value is None else f"{self.index} ({self.value!r})"
        state = " lost" if self.lost else ""
        return f"<Slot {which} of {quoted(self._slots.name)}{state}>"


class Taken:
    """A slot that is granted, until its caller has it."""

    __slots__ = ("_block", "_slots", "grant", "slot")

    def __init__(self, slots: BaseSlots, grant: Granting, *, block: bool) -> None:
        self._slots = slots
        self._block = block
        self.grant = grant
        self.slot: Any = None

    def keep(self) -> Any:
        """The slot, which is the caller's from now on."""
        [permit], slots = self.grant.permits, self._slots
        for each, (earlier, _) in list(slots._taken.items()):
            if earlier() is None:  # of a block, or an interrupt came
                slots._dropped(each)
        if self._block:
            if (report := self.grant.report) is not None:
                # Without a function to call: in it an interrupt of the block would be lost.
                slots._taken[permit] = ref(self.slot), -1
                report.slot = self.slot
            slots._enter(self)
        else:
            slots._taken[permit] = ref(self.slot, partial(slots._dropped, permit)), epoch_now()
            self.grant.keeping.keep()
        return self.slot

    def undo(self) -> None:
        """Give it back, as its caller does not get it; does not wait."""
        if self._block and self.slot is not None:
            self._slots._undo_enter(self)
        else:
            self.grant.keeping.undo()
        self._slots._taken.pop(self.grant.permits[0], None)
        self.grant.forget()


class BaseSlots(Synchronizer):
    """The common part of the slots for threads and for tasks: everything except waiting."""

    __slots__ = (
        "_channel",
        "_hash",
        "_key",
        "_on_lost",
        "_semaphore",
        "_table",
        "_taken",
        "_timeouts",
    )

    _kind = "slots"
    _class: ClassVar[type[BaseSlot]]
    #: The class of their permits.
    _permits: ClassVar[Callable[..., Any]]

    _semaphore: Any

    def __init__(
        self,
        client: AnyClient,
        name: Name,
        n_or_values: int | Sequence[str],
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[Any], object] | None = None,
        label: str | None = None,
    ) -> None:
        super().__init__(client, name)
        checked_callback("on_lost", on_lost, asynchronous=client._asynchronous)
        self._on_lost = on_lost
        self._key = client.name_prefix + checked_name("name", name)
        self._channel = key_beside("semaphore_channel", self._key)
        self._timeouts = key_beside("permit_timeouts", self._key)
        self._hash = key_beside("slots", self._key)
        self._table = Table(checked_slots("n_or_values", n_or_values))
        # By permit: the slot, and the epoch in which its last reference lets go of it, -1 for
        # that of a block, which is there for `on_lost` only. A slot that was released is not there.
        self._taken: dict[str, tuple[ref[BaseSlot], int]] = {}
        self._semaphore = self._permits(
            client,
            name,
            permits=self._table.number,
            lease=lease,
            wait=wait,
            on_lost=None if on_lost is None else self._report,
            label=label,
        )

    # ---- the calls: see steps.py

    def _acquire(
        self, lease: LeaseTime, time: CallersTime, *, block: bool, label: str | None = None
    ) -> Steps[Any]:
        """Take the lowest free slot, to be kept as ``Taken``; ``None``: none was free in time.

        ``block``: for ``with``, whose end releases it.
        """
        table, semaphore = self._table, self._semaphore
        if not (table.agreed or semaphore._core.idle()):  # else the acquire itself says so at once
            self._agree(table, (yield self._compare(table, time)))
        grant = Granting(semaphore, 1, lease, time, label=label, terms=(*table.terms, here()))
        taken = Taken(self, grant, block=block)
        try:
            with grant.keeping:
                reply = yield grant.acquire
                if not reply:
                    return None
                self._agree(table, reply)
                taken.slot = self._class(self, table, grant.permits[0], reply)
                grant.keeping.pass_on()
                return taken
        finally:
            if taken.slot is None:
                grant.forget()

    def _enter(self, taken: Taken) -> None:
        """Keep what a block begins with, for its end."""
        raise NotImplementedError

    def _undo_enter(self, taken: Taken) -> None:
        """The block has not begun."""
        raise NotImplementedError

    def _resize(self, n_or_values: int | Sequence[str]) -> Steps[None]:
        table = Table(checked_slots("n_or_values", n_or_values))
        core, permits = self._client._core, self._semaphore
        keys = (self._timeouts, self._hash)
        before, self._table = self._table, table
        try:
            yield step(core, without_limit(core), "slots/resize", keys, table.terms, name=self._key)
        except BaseException as error:
            if self._table is table and not in_doubt(error):
                self._table = before
            raise
        with permits._expecting(permits._core.expect(table.number)):
            yield permits._core.set_permits(table.number)

    def _read_taken(self, time: CallersTime | None = None) -> Steps[dict[int, Holder]]:
        """Who has each slot, with what the clients say of themselves; see ``holders.py``."""
        table, core = self._table, self._client._core
        time = time or without_limit(core)
        keys = (self._timeouts, self._hash)
        reply = yield step(core, time, "slots/taken", keys, name=self._key)
        found = self._found(table, reply)
        said = yield from late.named_here(core, self._key, list(found.values()), time)
        return dict(zip(found, said, strict=True))

    def _read_holders(self) -> Steps[list[Holder]]:
        return list((yield from self._read_taken()).values())

    def _none_free(self, seconds: float) -> Steps[LockTimeout]:
        """The error of a block that had no slot in time, with who has them."""
        found: dict[int, Holder] = {}
        with suppress(HoldfastError):  # the time-out is what matters
            found = yield from self._read_taken(time_over(self._client._core))
        text = f"timed out after {seconds:g} s waiting for a slot of {quoted(self.name)}: all are "
        return LockTimeout(f"{text}taken{held_by(list(found.values()))}")

    def _compare(self, table: Table, time: CallersTime) -> Exchange[Any]:
        """Whether the server has this number of slots and these values."""
        keys = (self._key, self._timeouts, self._channel, self._hash)
        args = (b"", 1, b"", *table.terms, b"")
        return step(self._client._core, time, "slots/acquire", keys, args)

    # ---- what the replies mean

    def _agree(self, table: Table, reply: Any) -> None:
        """Raise what the server objects to: another number or other values."""
        verdict, said, *_ = reply
        if verdict == OTHER_NUMBER:
            msg = (
                f"{quoted(self.name)} has {said} {'slot' if said == 1 else 'slots'}, not "
                f"{table.number}: all its users must give the same number; resize() changes it"
            )
            raise ValueError(msg)
        if verdict == OTHER_VALUES:
            theirs = _shown(checked_text(self._hash, "the slots' values", said))
            own = _shown(table.encoded.decode())
            msg = (
                f"the slots of {quoted(self.name)} have the values {theirs}, not {own}: all its "
                f"users must give the same; resize() changes them"
            )
            raise ValueError(msg)
        table.agreed = True

    def _dropped(self, permit: str, _: object = None) -> None:
        """No variable refers to it any more: it is not renewed, and expires with its lease."""
        _, epoch = self._taken.get(permit, (None, -1))
        if epoch == epoch_now():
            with suppress(HoldfastError):  # the client was closed
                self._semaphore._let_go([bytes.fromhex(permit)])
        self._taken.pop(permit, None)

    def _found(self, table: Table, reply: Any) -> dict[int, Holder]:
        words = table.values or map(str, range(MOST_SLOTS))  # more than there are: see resize()
        places = {word.encode(): place for place, word in enumerate(words)}
        holders = {
            places[word]: late.read_holder(holder, ms / 1000)
            for word, ms, holder in zip(reply[::3], reply[1::3], reply[2::3], strict=True)
            if word in places  # others are left from before a resize
        }
        return dict(sorted(holders.items()))

    def _report(self, permit: str) -> Any:
        """Of a permit that is lost, on the thread or loop of ``on_lost``."""
        known = self._taken.get(permit)
        slot = None if known is None else known[0]()
        if self._on_lost is None or slot is None or slot._extended:
            return None
        return self._on_lost(slot)


class SlotPermits(PermitSemaphore):
    """The permits of slots, in whose errors they are slots."""

    __slots__ = ()

    _kind = "slots"
    _hold_word = "slot"

    _released_word = "a slot of "

    def _not_out(self, permit: str) -> NotOwnedError:
        return not_taken()


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

        ``lease``: seconds. This client no longer renews it, even if this fails. Once it is
        extended no ``on_lost`` is called for it.
        """
        self._check_process()
        extended = self._slots._semaphore.extend(self._permit, lease)
        self._extended = self._extended or extended
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
        label: str | None = None,
    ) -> Slot | None:
        """Take the lowest free slot; ``None`` when none was free in time.

        ``blocking``: ``False`` does not wait. ``timeout``: seconds to wait; ``None`` or -1 waits
        without limit. ``lease``: after how many seconds the slot is free; ``None``: it is renewed;
        by default that of ``client.slots(…)``. ``label``: what it is for, instead of that of
        ``client.slots(…)``.

        Raises ``TypeError``, ``ValueError`` or ``OverflowError`` for a bad argument, before
        anything is sent; ``ValueError`` where the name has another number of slots, or other
        values; ``ConnectionError`` and ``ServerError`` as the locks.
        """
        seconds = checked_timeout(blocking, timeout)
        given, said = self._semaphore._lease_of(lease), checked_label(label)
        time = time_of(self._client._core, seconds, blocking=blocking)
        taken: Taken | None = None
        try:
            taken = run(self._acquire(given, time, block=False, label=said))
            slot: Slot | None = taken.keep() if taken is not None else None
            return slot
        except BaseException:  # an interrupt came before the caller had it
            if taken is not None:
                taken.undo()
            raise

    def taken(self) -> dict[int, late.Holder]:
        """The slots that are taken, by any client, and who has each."""
        return run(self._read_taken())

    def holders(self) -> list[late.Holder]:
        """The same as a list, in the order of the slots."""
        return run(self._read_holders())

    def resize(self, n_or_values: int | Sequence[str]) -> None:
        """Change the number of slots, or their values; waiters wake.

        Slots in use stay so. Other objects and programs must then give the same: theirs raise
        ``ValueError``, unless they have a slot, which they keep.
        """
        run(self._resize(n_or_values))

    def __enter__(self) -> Slot:
        """Take a slot; after ``wait`` seconds it raises ``LockTimeout``."""
        wait = self._semaphore._wait
        time = time_of(self._client._core, wait)
        taken: Taken | None = None
        try:
            taken = run(self._acquire(self._semaphore._lease, time, block=True))
            if taken is None:
                raise run(self._none_free(wait))
            slot: Slot = taken.keep()
            return slot
        except BaseException:  # as in acquire()
            if taken is not None:
                taken.undo()
            raise

    def _enter(self, taken: Taken) -> None:
        self._semaphore._keep(taken.grant.keeping, taken.slot._permit)

    def _undo_enter(self, taken: Taken) -> None:
        self._semaphore._undo(taken.grant.keeping, taken.slot._permit)

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
