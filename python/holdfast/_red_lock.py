"""The lock made of a majority of locks on independent servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core, _process
from ._arguments import LOCK_KEYWORDS, Seconds, encoded_text, instead_of
from ._base_lock import BaseLock
from ._lock import Lock
from ._quorum import QuorumSide, checked_members, cores_of, may_stand, title_of
from ._watcher import Watcher

__all__ = ["BaseRedLock", "RedLock"]


class MajorityWatcher(Watcher):
    """Reports the loss of a thread's majority; the loss of a minority is not reported."""

    __slots__ = ("owner",)

    def __init__(self, lock: BaseLock) -> None:
        self.owner = _core.this_thread()
        super().__init__(lock)

    def _hold_lost(self, reason: str) -> None:
        if not may_stand(self, self.owner):
            super()._hold_lost(reason)


class BaseRedLock(QuorumSide):
    """The common part of the red locks for threads and for tasks."""

    __slots__ = ()

    def _bind_core(self) -> None:
        super()._bind_core()
        _process.red_locks.add(self)

    def _member_of(self, client: str, name: bytes) -> BaseLock | None:
        """The member of a client, by its id, under a name."""
        for each in self._members:
            theirs = each._client
            if (
                theirs.id == client
                and theirs._name_prefix + encoded_text("name", each.name) == name
            ):
                return each
        return None

    @property
    def validity(self) -> float | None:
        """The seconds of validity that are left; ``None`` when not held.

        The lease, less the time since the request, less 1 % and 2 ms for clock drift.
        """
        return self._core.known_left(self._owner())

    def _new_core(self, name: bytes) -> _core.Lockable:
        return _core.red_lock(cores_of(self._members), name)


class RedLock(BaseRedLock, Lock):  # type: ignore[misc]
    """A majority of several locks on independent servers (Redlock), held by a thread.

    ``RedLock(*locks)``: one lock on each server, under one name, each of another client. It works
    while a minority of the servers is down, hangs, or refuses to work. All members are tried at
    once, and have a 200th of the lease, 5 to 50 ms, to answer. If a majority grants in time, the
    lock is held for ``validity`` seconds; otherwise all members are released, and tried again after
    a random rest.

    ``lost`` is true when the majority is no longer held; ``ttl()`` and ``hold_count()`` are the
    minimum over the best majority. A majority out of reach raises ``ConnectionError``.

    What it guarantees, and what it does not, is in ``docs/synchronizers/red_lock.md``. Read that
    first.
    """

    __slots__ = ("_members",)

    @instead_of(LOCK_KEYWORDS, "RedLock")
    def __init__(
        self,
        *locks: BaseLock,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[Any], object] | None = None,
    ) -> None:
        self._members = checked_members(type(self), locks, asynchronous=False)
        client, name = self._members[0]._client, title_of(self._members)
        super().__init__(client, name, lease=lease, wait=wait, on_lost=on_lost)

    def _new_watcher(self) -> Watcher:
        return MajorityWatcher(self)
