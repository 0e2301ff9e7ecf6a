"""The kinds of locks for threads, with the parts that those for tasks share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from holdfast import _core
from holdfast._core import Lock as CoreLock
from holdfast._engine import process as _process
from holdfast._engine.arguments import (
    LOCK_KEYWORDS,
    Late,
    LockOptions,
    MinimumLockOptions,
    Name,
    Seconds,
    Unpack,
    encoded_text,
    instead_of,
    milliseconds,
)
from holdfast._engine.errors import ConnectionError, LockError, quoted
from holdfast._engine.events import loss_of
from holdfast._engine.process import AnyClient
from holdfast._locks.base import BaseLock, Synchronizer, Watcher
from holdfast._locks.lock import Lock
from holdfast._locks.steps import run, without_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast._core import CallersTime
    from holdfast._locks import holders as late
    from holdfast._locks.holders import Holder
    from holdfast._locks.steps import Steps
else:
    late = Late("holdfast._locks.holders")  # dataclasses are slow to import

#: A place must outlast the pauses of a live waiter, which refreshes it three times as often.
SHORTEST_QUEUE_TIMEOUT_MS: Final = 100


def checked_queue_timeout(queue_timeout: Seconds | None, watchdog_ms: int) -> int:
    """Milliseconds; ``None`` means: as long as the watchdog's lease."""
    given = watchdog_ms if queue_timeout is None else milliseconds("queue_timeout", queue_timeout)
    return max(SHORTEST_QUEUE_TIMEOUT_MS, given)


def core_of(lock: BaseLock) -> CoreLock:
    """The engine's lock of a kind that is not made of several locks."""
    return cast("CoreLock", lock._core)


class BaseFairLock(BaseLock):
    """The common part of the fair locks for threads and for tasks."""

    __slots__ = ()

    _kind = "fair_lock"
    _queue_timeout_ms: int

    def _new_core(self, name: bytes) -> CoreLock:
        options = (0, self._queue_timeout_ms, None, self._label)
        return _core.new_lock(self._client._core, self._kind, name, *options)

    def _queue(self) -> Steps[list[Holder]]:
        """What ``queue()`` asks."""
        from holdfast._locks.waiters import queue

        core = self._client._core
        return queue(core, self._whole_name(), without_limit(core))

    def _position(self) -> Steps[int | None]:
        """What ``position()`` asks."""
        from holdfast._locks.waiters import position

        core, owner = self._client._core, f"{self._client.id}:{core_of(self).waiter}"
        return position(core, self._whole_name(), owner, without_limit(core))


class FairLock(BaseFairLock, Lock):  # type: ignore[misc]
    """A reentrant lock that is granted in the order of the requests.

    Made by ``client.fair_lock(name)``. Otherwise as ``holdfast.Lock``. The order holds over all
    threads, tasks and processes that wait for the name, and over those of Redisson's ``RFairLock``.
    An attempt without waiting does not overtake the waiters.

    ``queue_timeout`` (seconds, by default the client's ``lease``, at least 0.1): how long a waiter
    that has died keeps its place. A live waiter refreshes its place automatically.

    What it guarantees, and what it does not, is in ``docs/synchronizers/fair_lock.md``.
    """

    __slots__ = ("_queue_timeout_ms",)

    def __init__(
        self,
        client: AnyClient,
        name: Name,
        *,
        queue_timeout: Seconds | None = None,
        **options: Unpack[LockOptions],
    ) -> None:
        self._queue_timeout_ms = checked_queue_timeout(queue_timeout, client._lease_ms)
        super().__init__(client, name, **options)

    def queue(self) -> list[late.Holder]:
        """Who waits for it, according to the server: the next one first, of all programs.

        ``holds`` is 0, and ``ttl`` how many seconds the waiter keeps its place if it has died. A
        waiter that has died before is left out.
        """
        return run(self._queue())

    def position(self) -> int | None:
        """The place in ``queue()`` of this object's waiter; ``None`` when none waits.

        For other threads to read: 0 is the next one. Of several owners that wait by one object it
        is that of the one that began to wait last; for others make an object each.
        """
        return run(self._position())


class BaseFencedLock(BaseLock):
    """The common part of the fenced locks for threads and for tasks."""

    __slots__ = ()

    _kind = "fenced_lock"
    _word = "fenced_lock"

    @property
    def token(self) -> int | None:
        """The token of the caller's newest grant; ``None`` when it holds nothing.

        It is greater than the token of every earlier grant to any owner, and known without asking
        the server. A nested grant brings a new token, which stays after its release.
        """
        loss = loss_of(self)
        return core_of(self).known_token(self._owner()) if loss is None else loss.token


class FencedLock(BaseFencedLock, Lock):  # type: ignore[misc]
    """A ``Lock`` with fencing tokens, by which a resource can refuse a late owner.

    Made by ``client.fenced_lock(name)``. ``token`` grows with each grant over all clients, also
    after the server has lost its data. Redisson's ``RFencedLock`` of the same name is the same
    lock; so is ``client.lock(name)``, whose grants have no token.
    """

    __slots__ = ()


STEEPEST: Final = 1000


def _checked_multiplier(multiplier: Any) -> float:
    if isinstance(multiplier, bool) or not isinstance(multiplier, (int, float)):
        msg = f"multiplier must be a number, not {type(multiplier).__name__}"
        raise TypeError(msg)
    if not 1 <= multiplier <= STEEPEST:
        msg = f"multiplier must be from 1 to {STEEPEST}, not {multiplier!r}"
        raise ValueError(msg)
    return float(multiplier)


class Backoff:
    """How long a waiter rests between attempts: random times with a growing bound.

    Each rest is a random time between ``bound / multiplier`` and ``bound``, which begins with
    ``initial`` seconds and grows by ``multiplier`` each time, up to ``maximum`` seconds. With a
    multiplier of 1 every rest is ``initial``. Times below a millisecond count as one. A ``Backoff``
    is immutable.

    Raises ``ValueError`` or ``TypeError``, naming the argument, for times that are not positive, a
    ``maximum`` below ``initial``, or a ``multiplier`` that is not from 1 to 1000.
    """

    __slots__ = ("_initial", "_maximum", "_multiplier")

    def __init__(
        self, initial: Seconds = 0.001, maximum: Seconds = 0.128, multiplier: float = 2
    ) -> None:
        self._initial = milliseconds("initial", initial)
        self._maximum = milliseconds("maximum", maximum)
        self._multiplier = _checked_multiplier(multiplier)
        if self._maximum < self._initial:
            msg = f"maximum must not be below initial: {maximum!r} is below {initial!r}"
            raise ValueError(msg)

    @property
    def initial(self) -> float:
        """Seconds: the bound of the first rest."""
        return self._initial / 1000

    @property
    def maximum(self) -> float:
        """Seconds: the greatest bound."""
        return self._maximum / 1000

    @property
    def multiplier(self) -> float:
        """The factor by which the bound grows each time."""
        return self._multiplier

    def _terms(self) -> tuple[int, int, float]:
        """The arguments of the engine's back-off: milliseconds and the factor."""
        return self._initial, self._maximum, self._multiplier

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Backoff) and self._terms() == other._terms()

    def __hash__(self) -> int:
        return hash(self._terms())

    def __repr__(self) -> str:
        return (
            f"Backoff(initial={self.initial:g}, maximum={self.maximum:g}, "
            f"multiplier={self.multiplier:g})"
        )


#: From 1 to 128 ms, doubling: as Redisson.
EXPONENTIAL: Final = Backoff()


class BaseSpinLock(BaseLock):
    """The common part of the spin locks for threads and for tasks."""

    __slots__ = ()

    _kind = "spin_lock"
    _backoff: Backoff

    @property
    def backoff(self) -> Backoff:
        """The rest between its waiters' attempts."""
        return self._backoff

    def _new_core(self, name: bytes) -> _core.Lock:
        backoff = self._backoff._terms()
        options = (self._at_least, 0, backoff, self._label)
        return _core.new_lock(self._client._core, self._kind, name, *options)


class SpinLock(BaseSpinLock, Lock):  # type: ignore[misc]
    """A ``Lock`` with waiters that poll the server, with rests in between.

    Made by ``client.spin_lock(name)``. It never subscribes: for servers without pub/sub, and for
    clusters where each message goes to every node. On the server it is the lock of
    ``client.lock(name)``, and Redisson's ``RSpinLock`` and ``RLock``; its release wakes their
    subscribers.
    """

    __slots__ = ("_backoff",)

    def __init__(
        self,
        client: AnyClient,
        name: Name,
        *,
        backoff: Backoff | Seconds = EXPONENTIAL,
        **options: Unpack[MinimumLockOptions],
    ) -> None:
        self._backoff = checked_backoff(backoff)
        super().__init__(client, name, **options)


def checked_backoff(backoff: Any) -> Backoff:
    """A back-off; a number of seconds is a constant one."""
    if isinstance(backoff, Backoff):
        return backoff
    if isinstance(backoff, bool) or not isinstance(backoff, (int, float)):
        hint = ": use its .total_seconds()" if hasattr(backoff, "total_seconds") else ""
        msg = (
            f"backoff must be a Backoff or a number of seconds, not {type(backoff).__name__}{hint}"
        )
        raise TypeError(msg)
    milliseconds("backoff", backoff)
    return Backoff(backoff, backoff, 1)


class ReadSide(BaseLock):
    """The common part of the read locks for threads and for tasks."""

    __slots__ = ()

    _kind = "read"
    _word = "read_lock"


class WriteSide(BaseLock):
    """The common part of the write locks for threads and for tasks."""

    __slots__ = ()

    _kind = "write"
    _word = "write_lock"
    _may_wait_for_itself = True

    def _refuse_upgrade(self) -> None:
        owner = self._owner()
        if core_of(self).known_reads(owner) and not self._core.known_count(owner):
            msg = (
                f"this {self._owner_word} holds the read lock of {quoted(self.name)} and would "
                "wait for itself; release the read lock first, or acquire the write lock before it"
            )
            raise LockError(msg)


class ReadLock(ReadSide, Lock):  # type: ignore[misc]
    """The shared side of a read-write lock: any number of owners, while the write lock is free.

    Made by ``client.read_write_lock(name)``, as its ``read``; otherwise a ``Lock``. Readers do not
    wait for waiting writers.
    """

    __slots__ = ()


class WriteLock(WriteSide, Lock):  # type: ignore[misc]
    """The exclusive side of a read-write lock: one owner, without other readers or writers.

    Made by ``client.read_write_lock(name)``, as its ``write``; otherwise a ``Lock``. Its owner may
    also read. Acquiring it while holding only the read lock raises ``LockError``, and nothing is
    sent.
    """

    __slots__ = ()


class BaseReadWriteLock(Synchronizer):
    """The common part of the read-write locks for threads and for tasks."""

    __slots__ = ()

    _kind = "read_write_lock"


class ReadWriteLock(BaseReadWriteLock):
    """A reentrant lock that many may read or one may write, shared by all that use its name.

    Made by ``client.read_write_lock(name)``. ``read`` and ``write`` are its two locks, with
    separate holds, leases and losses. A thread that writes may also read, and may go on reading
    after it has released the write lock. Redisson's ``RReadWriteLock`` of the same name is the same
    lock. More is in ``docs/synchronizers/read_write_lock.md``.
    """

    __slots__ = ("read", "write")

    #: The shared side.
    read: ReadLock
    #: The exclusive side.
    write: WriteLock

    def __init__(
        self,
        client: AnyClient,
        name: Name,
        **options: Unpack[LockOptions],
    ) -> None:
        super().__init__(client, name)
        self.read = ReadLock(client, name, **options)
        self.write = WriteLock(client, name, **options)


Members = tuple[BaseLock, ...]


class QuorumSide(BaseLock):
    """The common part of multi locks and red locks, for threads and for tasks."""

    __slots__ = ()

    _may_defer = False

    _members: Members

    @property
    def _may_wait_for_itself(self) -> bool:  # type: ignore[override]
        return any(member._may_wait_for_itself for member in self._members)

    def _refuse_upgrade(self) -> None:
        for member in self._members:
            member._refuse_upgrade()

    def _holders(self, time: CallersTime | None = None) -> Steps[list[Holder]]:
        from holdfast._locks.holders import of_several

        askings = [member._holders(time) for member in self._members]
        return of_several(askings, majority=isinstance(self, BaseRedLock))


def checked_members(kind: type, locks: Sequence[Any], asynchronous: bool) -> Members:
    """The members: at least one lock, each once, of open clients; raises for others."""
    if not locks:
        msg = f"a {kind.__name__} needs at least one lock"
        raise ValueError(msg)
    for place, lock in enumerate(locks):
        _check_member(kind, lock, asynchronous)
        if any(lock._core.same_as(other._core) for other in locks[:place]):
            msg = f"a {kind.__name__} cannot have {quoted(lock.name)} of one client twice"
            raise ValueError(msg)
    return tuple(locks)


def _is_lock(thing: object) -> bool:
    return isinstance(getattr(thing, "_core", None), _core.Lock) and isinstance(thing, BaseLock)


def _check_member(kind: type, lock: Any, asynchronous: bool) -> None:
    if not _is_lock(lock):
        msg = f"the members of a {kind.__name__} must be locks, not {type(lock).__name__}"
        raise TypeError(msg)
    if lock._client._asynchronous != asynchronous:
        needed, theirs = ("asyncio", "sync") if asynchronous else ("sync", "asyncio")
        msg = (
            f"the members of this {kind.__name__} must be locks of {needed} clients, "
            f"but {quoted(lock.name)} is of a client for {theirs}"
        )
        raise TypeError(msg)
    if lock._client._core.closed:
        msg = f"{quoted(lock.name)} cannot be part of a {kind.__name__}: its client was closed"
        raise ConnectionError(msg)


def title_of(members: Members) -> str:
    """The name of the whole: the members' names, each once."""
    names = dict.fromkeys(member.name for member in members)
    return ", ".join(
        name if isinstance(name, str) else name.decode(errors="backslashreplace") for name in names
    )


def cores_of(members: Members) -> list[_core.Lock]:
    return [member._core for member in members if isinstance(member._core, _core.Lock)]


def may_stand(watcher: Watcher, owner: int) -> bool:
    """After the loss of a member: whether enough members are held; `watcher` then stays."""
    core = watcher.lock._core
    if core.known_lost(owner):
        return False
    watcher.listen()
    # Lost since then: the event of that is about to come.
    if not core.known_count(owner) and not core.known_lost(owner):
        watcher.forget()
    return True


class BaseMultiLock(QuorumSide):
    """The common part of the multi locks for threads and for tasks."""

    __slots__ = ()

    _kind = "multi_lock"

    def _new_core(self, name: bytes) -> _core.Lockable:
        return _core.multi_lock(cores_of(self._members), name, self._label)


class MultiLock(BaseMultiLock, Lock):  # type: ignore[misc]
    """Several locks as one, held by a thread: all of them, or none.

    Made by ``client.multi_lock(*locks)``; the locks may belong to several clients, and be of any
    kinds. The ``lease``, ``wait`` and ``on_lost`` of the members are not used. A multi lock waits
    for another owner only while it holds no member, so two multi locks never wait for each other,
    whatever the order of their members. Redisson's ``RMultiLock`` of the same names takes the same
    locks.

    ``lost`` is true when any member is lost; ``ttl()`` and ``hold_count()`` are the minimum over
    the members; ``locked()`` is true when any member is held; ``force_release()`` frees them all.
    ``release()`` releases all members even when one is lost, and then raises.
    """

    __slots__ = ("_members",)

    def __init__(
        self,
        client: AnyClient,
        *locks: BaseLock,
        **options: Unpack[LockOptions],
    ) -> None:
        self._members = checked_members(type(self), locks, asynchronous=False)
        super().__init__(client, title_of(self._members), **options)


class MajorityWatcher(Watcher):
    """Reports the loss of a thread's majority; the loss of a minority is not reported."""

    __slots__ = ("owner",)

    def __init__(self, lock: Lock) -> None:
        self.owner = _core.this_thread()
        super().__init__(lock)

    def _hold_lost(self, reason: str) -> None:
        if not may_stand(self, self.owner):
            super()._hold_lost(reason)


class BaseRedLock(QuorumSide):
    """The common part of the red locks for threads and for tasks."""

    __slots__ = ()

    _kind = "red_lock"

    def _bind_core(self, core: _core.Lockable) -> None:
        super()._bind_core(core)
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
        return _core.red_lock(cores_of(self._members), name, self._label)


class RedLock(BaseRedLock, Lock):  # type: ignore[misc]
    """A majority of several locks on independent servers (Redlock), held by a thread.

    ``RedLock(*locks)``: one lock on each server, under one name, each of another client. ``lease``:
    seconds after which a hold ends by itself, not renewed; ``None``: it is renewed. ``wait``:
    seconds that ``with`` waits before ``LockTimeout``; ``None``: without limit. It works
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
        label: str | None = None,
    ) -> None:
        self._members = checked_members(type(self), locks, asynchronous=False)
        client, name = self._members[0]._client, title_of(self._members)
        super().__init__(client, name, lease=lease, wait=wait, on_lost=on_lost, label=label)

    def _new_watcher(self) -> Watcher:
        return MajorityWatcher(self)
