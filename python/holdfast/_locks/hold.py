"""The common part of the hold objects, for threads and for tasks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any
from weakref import ref

from holdfast import _core
from holdfast._engine import events as _events
from holdfast._engine.arguments import LeaseTime, Name, Seconds, Unset, checked_name, checked_wait
from holdfast._engine.errors import HoldfastError, NotOwnedError
from holdfast._engine.names import quoted
from holdfast._locks.base import BaseLock, Watcher

__all__ = ["BaseHold", "HoldWatching", "checked", "lock_of"]


current_epoch = _core.epoch


class HoldWatching(Watcher):
    """Calls ``on_lost`` with a hold object, which it does not keep alive."""

    __slots__ = ()

    _hold: ref[BaseHold]

    def _hold_lost(self, reason: str) -> None:
        hold = self._hold()
        if hold is None:
            return None
        if hold.lost:
            return super()._hold_lost(reason)
        # A red lock that lost a minority still holds enough, and may lose more later.
        self.listen()
        if not hold._known_count():
            self.forget()
        return None

    def _call_on_lost(self) -> Any:
        hold = self._hold()
        if hold is not None and self.lock._on_lost is not None:
            return self.lock._on_lost(hold)
        return None


class BaseHold(_core.Native):
    """The common part of the holds for threads and for tasks: everything except waiting."""

    __slots__ = (
        "__weakref__",
        "_core",
        "_detached",
        "_detaching",
        "_epoch",
        "_owner",
        "_watcher",
        "lock",
        "name",
    )

    #: The lock that is held.
    lock: Any
    #: The lock's name, as it was given.
    name: Name

    def __init__(self, lock: BaseLock) -> None:
        self._epoch = _core.epoch()
        self._core = lock._core
        self._owner = _core.next_owner()  # an owner for this hold alone
        self._detached = False
        self._detaching = False  # a detach was begun: the server may have executed it
        self._watcher: HoldWatching | None = None
        self.name = lock.name
        self.lock = lock
        if not _events.running():
            _events.start()
        if lock._on_lost is not None:
            self._watcher = self._new_watcher()
            self._watcher.listen()

    @property
    def lost(self) -> bool:
        """Whether the hold is known to be gone without having been released."""
        return self._core.known_lost(self._owner)

    @property
    def loss(self) -> str | None:
        """Why the hold was lost; ``None`` while it is held, and after its release."""
        return self._core.known_loss(self._owner)

    @property
    def left(self) -> float | None:
        """Seconds of validity that are left, by the client's clock; ``None`` when not held."""
        return self._core.known_left(self._owner)

    @property
    def token(self) -> int | None:
        """The token of a fenced lock's grant; ``None`` when not held, and for other kinds."""
        core = self._core
        return core.known_token(self._owner) if isinstance(core, _core.Lock) else None

    def _new_watcher(self) -> HoldWatching:
        raise NotImplementedError

    def _known_count(self) -> int:
        return self._core.known_count(self._owner)

    def _listener(self) -> int:
        return self._watcher.number if self._watcher is not None else 0

    def _ended_before(self) -> NotOwnedError:
        how = "detached" if self._detached else "released"
        return NotOwnedError(
            f"the hold on {quoted(self.name)} cannot be released: it has been {how} already"
        )

    def _note(self, body: BaseException, release: HoldfastError) -> None:
        """An error of the release must not hide the error of the body: it is added to it."""
        self.lock._note(body, release)

    def _passed_on(self) -> _core.Lock:
        """The engine's lock, if its holds can be detached."""
        core = self._core
        if not isinstance(core, _core.Lock) or not core.movable_as:
            msg = (
                f"a hold of a {type(self.lock).__name__} cannot be detached: those of Lock, "
                "FairLock, FencedLock and WriteLock can"
            )
            raise TypeError(msg)
        return core

    def _ticket(self, core: _core.Lock) -> str:
        """The result of detach(); empty if the hold has been lost."""
        ticket = core.end_detach(self._owner)
        if ticket:
            self._detached = True
            self._unwatch()
        return ticket

    def _unwatch(self) -> None:
        """Stop watching: the owner has ended the hold, so there is no loss to report."""
        if self._watcher is not None:
            self._watcher.forget()

    def __repr__(self) -> str:
        left, loss = self.left, self.loss
        state = "not held" if left is None else f"held, {left:.1f} s left"
        if loss is not None:
            state = f"lost: {loss}"
        return f"<{type(self).__name__} on {quoted(self.name)}, {state}>"

    def __reduce__(self) -> Any:
        msg = f"a {type(self).__name__} cannot be pickled or copied"
        raise TypeError(msg)

    def _abandon(self) -> None:
        """Stop renewing the hold; it expires with its lease."""
        self._unwatch()
        held = self._known_count() > 0
        if held or self.lost:
            _core.owner_ended(self._owner, "hold object")
        if held:
            msg = (
                f"the hold on {quoted(self.name)} was collected while held: "
                "it is no longer renewed and expires with its lease; release it, or use `with`"
            )
            warnings.warn(msg, ResourceWarning, stacklevel=3, source=self)

    def __del__(self, epoch: Callable[[], int] = current_epoch) -> None:
        # Without `lock` a signal interrupted the constructor: nothing was acquired. At the
        # interpreter's end without a GIL, this module may have no names any more.
        if hasattr(self, "lock") and self._epoch == epoch():
            self._abandon()


def checked(
    lock: BaseLock, wait: Seconds | Unset | None, lease: Seconds | Unset | None
) -> tuple[bool, float, LeaseTime]:
    """Whether and how long ``hold()`` waits, and its lease; both default to those of the lock.

    Without a wait it is ``acquire(blocking=False)``, whose time-out is none.
    """
    seconds = lock._wait if isinstance(wait, Unset) else checked_wait(wait)
    return seconds != 0, seconds or -1.0, lock._lease_of(lease)


def lock_of(client: Any, ticket: Any, lease: Any, on_lost: Any, name: Any) -> Any:
    """The lock of a ticket, with these options; raises ``ValueError`` for an invalid ticket.

    ``name``: that of the lock whose ticket it has to be; ``None``: of any.
    """
    wanted = None if name is None else checked_name("name", name)
    if not isinstance(ticket, str):
        msg = f"ticket must be str, not {type(ticket).__name__}"
        raise TypeError(msg)
    if not ticket.isascii():
        msg = "ticket is not a ticket of Hold.detach(): it is not ASCII"
        raise ValueError(msg)
    kind, key = client._core.read_ticket(ticket)
    if wanted is not None and wanted != key:
        msg = f"ticket is for {quoted(key)}, not for {quoted(wanted)}: nothing was attached"
        raise ValueError(msg)
    if kind == "write_lock":
        return client.read_write_lock(_shown(key), lease=lease, on_lost=on_lost).write
    return getattr(client, kind)(_shown(key), lease=lease, on_lost=on_lost)


def _shown(key: bytes) -> Name:
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key
