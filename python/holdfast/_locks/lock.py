"""The reentrant lock, and a hold of it as an object that belongs to no thread."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Any
from weakref import ref

from holdfast import _core
from holdfast._clients.base import BaseClient
from holdfast._engine import process as _process
from holdfast._engine.arguments import (
    ACQUIRE_KEYWORDS,
    UNSET,
    LeaseTime,
    Seconds,
    Self,
    Unset,
    checked_flag,
    checked_timeout,
    instead_of,
    milliseconds,
)
from holdfast._engine.errors import HoldfastError, LockLostError, NotOwnedError
from holdfast._engine.native import native
from holdfast._engine.process import THIS_THREAD
from holdfast._locks.base import BaseLock, Watcher, seconds_left
from holdfast._locks.decorating import Decorates
from holdfast._locks.hold import BaseHold, HoldWatching, checked, lock_of

__all__ = ["Hold", "Lock", "attach"]


class Lock(Decorates, BaseLock, _core.BlockingLock):  # type: ignore[misc]
    """A reentrant lock, held by a thread and shared by all processes that use its name.

    Made by ``client.lock(name)``. All lock objects of one name and client share the holds of a
    thread. Without a lease a hold is renewed by the watchdog until it is released or its thread
    ends. Redisson's ``RLock`` of the same name is the same lock.

    What it guarantees, and what no lock with a lease can, is in ``docs/synchronizers/lock.md``.
    """

    __slots__ = ()

    def _owner(self) -> int:
        return THIS_THREAD

    def _key(self) -> int:
        return _process.caller()

    def _bind_core(self) -> None:
        prepares = self._wants_watcher() or self._may_wait_for_itself
        self._bind(self._core, self._lease, self._wait, prepares, self._defers())

    # Native: no signal handler runs between the effect of one and its return.

    @native(_core.BlockingLock.acquire)
    def acquire(
        self,
        blocking: bool = True,
        timeout: Seconds | None = -1,
        *,
        lease: Seconds | Unset | None = UNSET,
    ) -> bool:
        """Take the lock, or one more hold of it; ``True`` if it was acquired.

        As ``threading.RLock.acquire``. ``blocking``: ``False`` does not wait. ``timeout``: seconds
        to wait; -1 or ``None`` waits without limit. ``lease``: how long the hold lasts without
        being renewed, in seconds; ``None``: it is renewed; by default the lock's own.

        Raises ``TypeError``, ``ValueError`` or ``OverflowError`` for a bad argument, before
        anything is sent; ``ConnectionError`` when no server answers within ``timeout`` and the
        command time-out; ``ServerError`` when it refuses; ``LockLostError`` when earlier holds of
        the caller turn out to be gone.
        """
        raise NotImplementedError

    @native(_core.BlockingLock.release)
    def release(self, *, wait: bool = True) -> None:
        """Release one hold; the last release frees the lock.

        ``wait=False``: a last release returns once the command is written. What only the server
        knows then, the loss of the hold, is reported to ``on_lost`` and the log.

        Raises ``NotOwnedError`` when the caller holds none, ``LockLostError`` (once) when it held
        one that is gone, ``ConnectionError`` when the server is out of reach: then the release goes
        on in the background until the lease is over, and may be called again.
        """

    @native(_core.BlockingLock.__enter__)
    def __enter__(self) -> Self:  # type: ignore[override]
        """Acquire the lock; it waits for ``wait`` seconds, then raises ``LockTimeout``."""
        raise NotImplementedError

    @native(_core.BlockingLock.__exit__)
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Release the lock.

        An error of the body is raised; one of the release is added to it as a note, and logged.
        """

    @instead_of(ACQUIRE_KEYWORDS, "acquire")
    def _checked_request(
        self,
        blocking: bool = True,
        timeout: Seconds | None = -1,
        *,
        lease: Seconds | Unset | None = UNSET,
    ) -> tuple[bool, float, LeaseTime]:
        """The arguments of ``acquire``, as the engine has them."""
        seconds = checked_timeout(blocking, timeout)
        return bool(blocking), seconds, self._lease_of(lease)

    @instead_of({}, "release")
    def _checked_release(self, *, wait: bool = True) -> tuple[bool]:
        """The arguments of ``release``."""
        if not checked_flag("wait", wait):
            self._check_deferring("wait=False")
        return (wait,)

    def _prepare(self) -> Watcher | None:
        """Before an acquire: the part in Python."""
        self._refuse_upgrade()
        return self._watch()

    def _refused(self, watcher: Watcher | None) -> None:
        """Called after an acquire without a grant."""
        self._attempted(watcher, False)

    def _released(self, holds: int, error: BaseException | None, deferred: bool) -> None:
        """After a release of ``holds`` holds; an interrupted one goes on in the background."""
        if isinstance(error, LockLostError):
            self._leave_watcher()
        failed = isinstance(error, HoldfastError)
        self._gave_back(0 if failed else holds, deferred and not failed)

    def locked(self) -> bool:
        """Whether any owner holds it, according to the server."""
        return self._core.locked() > 0

    def owned(self) -> bool:
        """Whether the calling thread holds it, according to the server."""
        return self.hold_count() > 0

    def hold_count(self) -> int:
        """The holds of the calling thread, according to the server."""
        return self._core.hold_count(THIS_THREAD) or 0

    def ttl(self) -> float | None:
        """Seconds left on the server; ``None`` if it is free; infinite if it has no expiry."""
        return seconds_left(self._core.ttl())

    def extend(self, lease: Seconds) -> bool:
        """Set a new fixed lease from now on, no longer renewed; ``False`` when not held."""
        return self._core.extend(THIS_THREAD, milliseconds("lease", lease)) == 1 and not self.lost

    def force_release(self) -> bool:
        """Free the lock, regardless of its owner; ``True`` if it was held. Waiters wake.

        Raises ``ServerError`` if the key is no lock; it stays. ``holdfast.inspect.force_release()``
        also records who did it.
        """
        return self._core.force_release(THIS_THREAD) == 1

    def hold(
        self, *, wait: Seconds | Unset | None = UNSET, lease: Seconds | Unset | None = UNSET
    ) -> Hold:
        """Take the lock for a ``Hold``: an object that any thread may use and release.

        ``wait``: seconds to wait for it, 0 not to wait, ``None`` without limit; ``lease``: as of
        ``acquire``; both default to the lock's. Another hold of the lock waits for this one, in
        the same thread too.

        Raises ``LockTimeout`` when the lock stays busy for ``wait``, or the server refuses to work
        until then (``__cause__`` is its error); ``ServerError`` when it refuses, and ``wait`` is 0
        or ``None``; ``ConnectionError`` when no server answers within ``wait`` and the command
        time-out.
        """
        return take_hold(self, wait, lease)

    # The methods of a lock that threading.Condition(lock) calls.

    def _is_owned(self) -> bool:
        return self._core.known_count(THIS_THREAD) > 0

    def _release_save(self) -> list[float | None]:
        """Release all holds; the lease of each, ``None`` for a renewed one."""
        levels = self._core.known_levels(THIS_THREAD)
        self._release_all()
        return [ms / 1000 if ms else None for ms in levels]

    def _acquire_restore(self, leases: list[float | None]) -> None:
        for lease in leases:
            self.acquire(lease=lease)


class HoldWatcher(HoldWatching):
    """Calls ``on_lost`` for the holds of the blocking client."""

    __slots__ = ("_hold",)

    def __init__(self, hold: BaseHold) -> None:
        self._hold = ref(hold)
        super().__init__(hold.lock)


class Hold(BaseHold, _core.BlockingHold):
    """One acquisition of a lock as an object, which any thread may use and end.

    Made by ``lock.hold()``. It does not belong to the thread that made it, is not reentrant, and
    shares nothing with the holds of threads: another hold of the lock waits for it, in the same
    thread too. ``with hold:`` releases it at the end. A hold that is garbage-collected before its
    release is no longer renewed and expires with its lease; a ``ResourceWarning`` names it.

    In a child of ``fork()`` it is not held. More is in ``docs/holds.md``.
    """

    __slots__ = ()

    lock: Lock

    def __init__(self, lock: BaseLock) -> None:
        super().__init__(lock)
        self._bind(self._core, self._owner)

    @native(_core.BlockingHold.release)
    def release(self) -> None:
        """Free the lock.

        Raises ``NotOwnedError`` when it has been released or detached before, ``LockLostError``
        (once) when the hold was lost, ``ConnectionError`` when the server cannot be reached: then
        the release goes on in the background until the lease is over, and may be called again.
        """

    @native(_core.BlockingHold.__enter__)
    def __enter__(self) -> Self:
        """The hold itself."""
        raise NotImplementedError

    @native(_core.BlockingHold.__exit__)
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Release the hold, unless it was detached.

        An error of the body is raised; one of the release is added to it as a note, and logged.
        """

    def extend(self, lease: Seconds) -> bool:
        """Set a new fixed lease from now on, no longer renewed; ``False`` when not held.

        Raises ``ConnectionError`` when the server is out of reach, ``TypeError`` or ``ValueError``
        for a lease that is not a positive number of seconds. After a ``detach`` that failed it is
        ``False``.
        """
        ms = milliseconds("lease", lease)
        if self._detaching:
            return False
        return self._core.extend(self._owner, ms) == 1 and not self.lost

    def detach(self, lease: Seconds = 30.0) -> str:
        """End the hold here without releasing it, and return the ticket that continues it.

        The lock stays held on the server for ``lease`` seconds from now, without renewal, for the
        process that calls ``client.attach(ticket)``. The ticket is printable ASCII.

        Raises ``TypeError`` for a hold of a spin, read, multi or red lock, ``NotOwnedError`` when
        it was released or detached before, ``LockLostError`` when it was lost; ``ConnectionError``
        when the server is out of reach: then the hold is not renewed any more, and ends with the
        shorter of its lease and the ticket's unless it is released, or detached again.
        """
        core, ms = self._passed_on(), milliseconds("lease", lease)
        self._claim()
        self._detaching = True
        try:
            core.detach(self._owner, ms)
            ticket = self._ticket(core)
            if not ticket:
                core.release(self._owner, True)  # raises with the reason of the loss
            self._mark_detached()
            return ticket
        except NotOwnedError:
            raise
        except BaseException:
            self._unclaim()
            raise

    def _new_watcher(self) -> HoldWatcher:
        return HoldWatcher(self)


def take_hold(
    lock: Lock, wait: Seconds | Unset | None = UNSET, lease: Seconds | Unset | None = UNSET
) -> Hold:
    """Carry out ``lock.hold()``.

    The object is made before the grant. When a signal handler raises between the grant and the
    caller's assignment, the object is collected and its hold is no longer renewed.
    """
    waits, seconds, (ms, renewed) = checked(lock, wait, lease)
    hold = Hold(lock)
    try:
        if not hold._core.acquire(hold._owner, waits, seconds, ms, renewed, hold._listener()):
            raise lock._timed_out(max(seconds, 0.0))
        return hold
    except BaseException:
        # The traceback keeps the object alive for as long as the error is referenced.
        with suppress(ResourceWarning):
            hold._abandon()
        raise


def attach(client: BaseClient, ticket: Any, lease: Any, on_lost: Any, name: Any) -> Hold:
    """Carry out ``client.attach()``; when interrupted, return the hold to the ticket."""
    lock = lock_of(client, ticket, lease, on_lost, name)
    core, (ms, renewed) = lock._core, lock._lease
    hold = Hold(lock)
    try:
        core.attach(ticket, hold._owner, ms, renewed, hold._listener())
        return hold
    except BaseException:
        core.give_back(ticket, hold._owner)
        hold._unwatch()
        raise
