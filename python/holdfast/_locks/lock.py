"""The reentrant lock, and a hold of it as an object that belongs to no thread."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import ref

from holdfast import _core
from holdfast._engine import events as _events
from holdfast._engine import process as _process
from holdfast._engine.arguments import (
    ACQUIRE_KEYWORDS,
    UNSET,
    Late,
    LeaseTime,
    Name,
    Seconds,
    Self,
    Unset,
    checked_flag,
    checked_label,
    checked_timeout,
    checked_wait,
    instead_of,
    milliseconds,
)
from holdfast._engine.errors import HoldfastError, LockLostError, LockTimeout, NotOwnedError, quoted
from holdfast._engine.process import THIS_THREAD, AnyClient
from holdfast._locks.base import BaseLock, Watcher, answers, native, seconds_left
from holdfast._locks.steps import run, time_over

if TYPE_CHECKING:
    from typing import ParamSpec, TypeVar

    from holdfast._locks import holders as late
    from holdfast._locks.holders import Holder

    P = ParamSpec("P")
    R = TypeVar("R")
else:
    late = Late("holdfast._locks.holders")  # dataclasses are slow to import


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
        _process.hold_objects[self._owner] = self
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
            _core.owner_ended(self._owner, self.lock._hold_word)
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
) -> tuple[float, LeaseTime]:
    """How long ``hold()`` waits, and its lease; both default to those of the lock."""
    seconds = lock._wait if isinstance(wait, Unset) else checked_wait(wait)
    return seconds, lock._lease_of(lease)


class Lock(BaseLock, _core.BlockingLock):  # type: ignore[misc]
    """A reentrant lock, held by a thread and shared by all processes that use its name.

    Made by ``client.lock(name)``. All lock objects of one name and client share the holds of a
    thread. Without a lease a hold is renewed by the watchdog until it is released or its thread
    ends. Redisson's ``RLock`` of the same name is the same lock.

    What it guarantees, and what no lock with a lease can, is in ``docs/synchronizers/lock.md``.
    """

    __slots__ = ()

    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]:
        """Decorate a function: each call runs inside ``with lock:``.

        Raises ``TypeError`` for a coroutine function and for a generator function.
        """
        from holdfast._locks.decorators import decorated

        return decorated(self, function)

    def _owner(self) -> int:
        return THIS_THREAD

    def _key(self) -> int:
        return _process.caller()

    def _bind_core(self, core: _core.Lockable) -> None:
        prepares = self._wants_watcher() or self._may_wait_for_itself
        self._bind(core, self._lease, self._wait, prepares, self._defers())

    # Native: no signal handler runs between the effect of one and its return.

    @native(_core.BlockingLock.acquire)
    def acquire(
        self,
        blocking: bool = True,
        timeout: Seconds | None = -1,
        *,
        lease: Seconds | Unset | None = UNSET,
        label: str | None = None,
    ) -> bool:
        """Take the lock, or one more hold of it; ``True`` if it was acquired.

        As ``threading.RLock.acquire``. ``blocking``: ``False`` does not wait. ``timeout``: seconds
        to wait; -1 or ``None`` waits without limit. ``lease``: how long the hold lasts without
        being renewed, in seconds; ``None``: it is renewed; by default the lock's own. ``label``:
        what the hold is for, instead of the lock's ``label``; see ``holders``.

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
        label: str | None = None,
    ) -> tuple[bool, float, LeaseTime, str | None]:
        """The arguments of ``acquire``, as the engine has them."""
        seconds, given = checked_timeout(blocking, timeout), self._lease_of(lease)
        return bool(blocking), seconds, given, checked_label(label)

    def _timed_out(self, seconds: float | None = None) -> LockTimeout:
        """The error, with who holds the lock, if the server answers at once."""
        found: list[Holder] = []
        with suppress(HoldfastError):  # the time-out is what matters
            found = run(self._holders(time_over(self._client._core)))
        return self._timeout(seconds, found)

    @instead_of({}, "release")
    def _checked_release(self, *, wait: bool = True) -> tuple[bool]:
        """The arguments of ``release``."""
        if not checked_flag("wait", wait):
            self._check_deferring("wait=False")
        return (wait,)

    def _prepare(self) -> Watcher | None:
        """Before an acquire: the part in Python."""
        self._refuse_upgrade()
        try:
            return self._watch()
        except BaseException:  # an interrupt that came when the watcher was there
            self._refused(self._watchers.get(self._key()))
            raise

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
        return self._core.locked().wait() > 0

    def owned(self) -> bool:
        """Whether the calling thread holds it, according to the server."""
        return self.hold_count() > 0

    def hold_count(self) -> int:
        """The holds of the calling thread, according to the server."""
        return self._core.hold_count(THIS_THREAD).wait() or 0

    def ttl(self) -> float | None:
        """Seconds left on the server; ``None`` if it is free; infinite if it has no expiry."""
        return seconds_left(self._core.ttl().wait())

    def holders(self) -> list[late.Holder]:
        """Who holds it, according to the server, with what their clients say of themselves.

        Of a read-write lock both sides; of a lock made of locks the owners of its members.
        """
        return run(self._holders())

    def extend(self, lease: Seconds) -> bool:
        """Set a new fixed lease from now on, no longer renewed; ``False`` when not held.

        Raises ``ConnectionError`` when the server is out of reach, ``TypeError`` or ``ValueError``
        for a lease that is not a positive number of seconds.
        """
        ms = milliseconds("lease", lease)
        return next(answers(self._core.extend, THIS_THREAD, ms)) == 1 and not self.lost

    def force_release(self) -> bool:
        """Free the lock, regardless of its owner; ``True`` if it was held. Waiters wake.

        Raises ``ServerError`` if the key is no lock; it stays. ``holdfast.inspect.force_release()``
        also records who did it.
        """
        return next(answers(self._core.force_release, THIS_THREAD)) == 1

    def hold(
        self,
        *,
        wait: Seconds | Unset | None = UNSET,
        lease: Seconds | Unset | None = UNSET,
        label: str | None = None,
    ) -> Hold:
        """Take the lock for a ``Hold``: an object that any thread may use and release.

        ``wait``: seconds to wait for it, 0 not to wait, ``None`` without limit; ``lease``: as of
        ``acquire``; ``label``: what it is for; all default to the lock's. Another hold of the lock
        waits for this one, in the same thread too.

        Raises ``LockTimeout`` when the lock stays busy for ``wait``, or the server refuses to work
        until then (``__cause__`` is its error); ``ServerError`` when it refuses, and ``wait`` is 0
        or ``None``; ``ConnectionError`` when no server answers within ``wait`` and the command
        time-out.
        """
        return take_hold(self, wait, lease, label)

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

    def __init__(self, hold: Hold) -> None:
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
        return next(answers(self._core.extend, self._owner, ms)) == 1 and not self.lost

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
            core.detach(self._owner, ms).wait()
            ticket = self._ticket(core)
            if not ticket:
                core.release(self._owner, True).wait()  # raises with the reason of the loss
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
    lock: Lock,
    wait: Seconds | Unset | None = UNSET,
    lease: Seconds | Unset | None = UNSET,
    label: str | None = None,
) -> Hold:
    """Carry out ``lock.hold()``.

    The object is made before the grant. When a signal handler raises between the grant and the
    caller's assignment, the object is collected and its hold is no longer renewed.
    """
    hold = Hold(lock)
    try:
        acquire_for(hold, wait, lease, label)
        return hold
    except BaseException:
        # The traceback keeps the object alive for as long as the error is referenced.
        with suppress(ResourceWarning):
            hold._abandon()
        raise


def acquire_for(
    hold: Hold,
    wait: Seconds | Unset | None = UNSET,
    lease: Seconds | Unset | None = UNSET,
    label: str | None = None,
) -> None:
    """Acquire the lock for a hold object; raises ``LockTimeout``."""
    lock = hold.lock
    seconds, (ms, renewed) = checked(lock, wait, lease)
    how = (hold._owner, True, seconds, ms, renewed, hold._listener())
    if not hold._core.acquire(*how, checked_label(label)).wait():
        raise lock._timed_out(max(seconds, 0.0))


def attach(client: AnyClient, ticket: Any, lease: Any, on_lost: Any, name: Any) -> Hold:
    """Carry out ``client.attach()``; when interrupted, return the hold to the ticket."""
    from holdfast._locks.tickets import forced_ticket, lock_of

    lock = lock_of(client, ticket, lease, on_lost, name)
    core, (ms, renewed) = lock._core, lock._lease
    hold = Hold(lock)
    try:
        core.attach(ticket, hold._owner, ms, renewed, hold._listener()).wait()
        return hold
    except BaseException as error:
        core.give_back(ticket, hold._owner)
        hold._unwatch()
        if isinstance(error, NotOwnedError):
            raise run(forced_ticket(client, ticket, error)) from None
        raise
