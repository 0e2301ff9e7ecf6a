"""The common part of the locks for threads and for tasks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import _core, _event_log, _events
from ._arguments import (
    LeaseTime,
    Name,
    Seconds,
    Unset,
    check_minimum,
    checked_at_least,
    checked_callback,
    checked_name,
    checked_wait,
)
from ._base_client import BaseClient
from ._errors import LockTimeout, NotOwnedError, left_elsewhere, not_owned
from ._names import quoted
from ._synchronizer import Synchronizer
from ._watcher import Watcher

__all__ = ["BaseLock", "seconds_left"]

#: Never written to.
NO_WATCHERS: dict[int, Watcher] = {}


class BaseLock(Synchronizer):
    """The common part of the locks for threads and for tasks: everything except waiting."""

    __slots__ = (
        "_at_least",
        "_core",
        "_lease",
        "_on_lost",
        "_wait",
        "_watchers",
    )

    _word = "lock"  # of the kind, for the engine
    _owner_word = "thread"
    _may_wait_for_itself = False  # see _refuse_upgrade()
    _may_defer = True  # a release need not be awaited

    def __init__(
        self,
        client: BaseClient,
        name: Name,
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[Any], object] | None = None,
        at_least: Seconds | None = None,
    ) -> None:
        checked_callback("on_lost", on_lost, asynchronous=client._asynchronous)
        super().__init__(client, name)
        self._lease = self._checked_lease(lease)
        self._at_least = checked_at_least(at_least, self._lease)
        self._core = self._new_core(checked_name("name", name))
        self._wait = checked_wait(wait)
        self._on_lost = on_lost
        # By owner; one empty dict is shared by all locks without watchers.
        self._watchers: dict[int, Watcher] = NO_WATCHERS if on_lost is None else {}
        if self._defers():
            self._check_deferring("releases='deferred'")
        self._bind_core()

    @property
    def lost(self) -> bool:
        """Whether a hold of the caller is known to be gone; cleared by the next grant.

        Inside ``on_lost`` it is the hold that was lost, as for ``loss``, ``token`` and ``repr``.
        """
        return _events.loss_of(self) is not None or self._core.known_lost(self._owner())

    @property
    def loss(self) -> str | None:
        """Why a hold of the caller was lost; ``None`` while ``lost`` is false."""
        loss = _events.loss_of(self)
        return self._core.known_loss(self._owner()) if loss is None else loss.reason

    def _new_core(self, name: bytes) -> _core.Lockable:
        """The engine's lock; kinds with further options override it."""
        return _core.new_lock(self._client._core, self._word, name, self._at_least, 0, None)

    def _bind_core(self) -> None:
        """Pass the engine's objects to the native methods, if the class has any."""

    def _owner(self) -> int:
        raise NotImplementedError

    def _defers(self) -> bool:
        """Whether the end of ``with`` does not wait for the answer to the release."""
        return self._may_defer and self._client._defers

    def _check_deferring(self, what: str) -> None:
        """Raise ``ValueError`` if releases of this lock have to be awaited."""
        reason = ""
        if not self._may_defer:
            reason = f"{type(self).__name__}.release() is always awaited"
        elif self._at_least:
            reason = "the lock has a minimum hold time (at_least)"
        elif self._client._waits_for_replicas:
            reason = "the client waits for replicas (replicas_to_wait)"
        if reason:
            msg = f"{what} cannot be given for {quoted(self.name)}: {reason}"
            raise ValueError(msg)

    def _lease_of(self, lease: Seconds | Unset | None) -> LeaseTime:
        if isinstance(lease, Unset):
            return self._lease
        given = self._checked_lease(lease)
        check_minimum(self._at_least, given)
        return given

    def _key(self) -> int:
        """The owner's number, unique in this process."""
        return self._owner()

    def _wants_watcher(self) -> bool:
        return self._on_lost is not None

    def _new_watcher(self) -> Watcher:
        return Watcher(self)

    def _watch(self) -> Watcher | None:
        """Before an acquire: prepare to report a loss to the caller, if ``on_lost`` is set.

        Each hold has a separate watcher, so that a pending report of an earlier hold, or of another
        owner's, does not affect it.
        """
        if not _events.running():
            _events.start()
        if not self._wants_watcher():
            return None
        watcher = self._watchers.get(self._key())
        if watcher is None or not self._core.known_count(self._owner()):
            if watcher is not None and not self._core.known_lost(self._owner()):
                watcher.forget()  # released by another lock object, or the release was interrupted
            watcher = self._watchers[self._key()] = self._new_watcher()
        watcher.listen()  # again: an interrupt may have come before it, or in _unwatch()
        return watcher

    def _attempted(self, watcher: Watcher | None, granted: bool) -> None:
        """After an acquire: count the hold, or forget the watcher of an owner without holds."""
        if watcher is None:
            return
        if granted:
            watcher.holds += 1
        elif not watcher.holds:
            self._unwatch(watcher)

    def _gave_back(self, holds: int, deferred: bool = False) -> None:
        """After a release of ``holds`` holds; 0 when it failed.

        ``deferred``: the watcher of a last release stays until the engine reports its end.
        """
        watcher = self._watchers.get(self._key()) if self._watchers else None
        if watcher is None:
            return
        watcher.holds -= holds
        held = self._core.known_count(self._owner())
        if deferred and not held:
            self._leave_watcher()
        elif watcher.holds <= 0 or not held:
            self._unwatch(watcher)

    def _unwatch(self, watcher: Watcher) -> None:
        watcher.forget()  # first: one that is left in place is forgotten with the next acquire
        self._leave_watcher()
        self._core.forget_listener(self._owner(), watcher.number)

    def _leave_watcher(self) -> None:
        """Leave the watcher of a lost hold in place: it still reports the loss."""
        self._watchers.pop(self._key(), None)

    def _refuse_upgrade(self) -> None:
        """Raise ``LockError`` if the caller would wait for itself."""

    def _timed_out(self, seconds: float | None = None) -> LockTimeout:
        seconds = self._wait if seconds is None else seconds
        why = "another owner holds it"
        if self._core.foreign:
            why = _event_log.FOREIGN
        return LockTimeout(f"timed out after {seconds:g} s waiting for {quoted(self.name)}: {why}")

    def _not_owned(self, block: bool = False) -> NotOwnedError:
        """The error of a release without a hold; ``block``: at the end of ``with``."""
        owners, title = self._core.known_owners(), self._client._owner_title
        if block and owners and not owners[0][1]:
            return left_elsewhere(self.name, title(owners[0][0]), self._owner_word)
        return not_owned(self.name, owners, title)

    def __repr__(self) -> str:
        kind = type(self).__name__
        if (loss := _events.loss_of(self)) is not None:
            return f"<{kind} {quoted(self.name)} lost: {loss.reason}>"
        owner = self._known_owner()
        why = self._core.known_loss(owner) if owner is not None else None
        if why is not None:
            return f"<{kind} {quoted(self.name)} lost by this {self._owner_word}: {why}>"
        count = self._core.known_count(owner) if owner is not None else 0
        left = self._core.known_left(owner) if count and owner is not None else None
        if left is None:
            return f"<{kind} {quoted(self.name)} not held by this {self._owner_word}>"
        held = f"held by this {self._owner_word} ({count}), {left:.1f} s left"
        return f"<{kind} {quoted(self.name)} {held}>"

    def _known_owner(self) -> int | None:
        return self._owner()


def seconds_left(ms: int | None) -> float | None:
    """The server's PTTL, or what is left of a lease, in seconds; ``None``: there is none."""
    if ms is None or ms == -2:
        return None
    return math.inf if ms < 0 else ms / 1000
