"""The kinds of locks for tasks, each the twin of that for threads, with a task as its owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast._engine.arguments import (
    LOCK_KEYWORDS,
    Late,
    Name,
    Seconds,
    TaskLockOptions,
    TaskMinimumLockOptions,
    Unpack,
    instead_of,
)
from holdfast._engine.process import AnyClient
from holdfast._locks.base import BaseLock
from holdfast._locks.task_lock import Lock, TaskWatcher
from holdfast._locks.task_steps import drive
from holdfast._locks.threads import (
    EXPONENTIAL,
    Backoff,
    BaseFairLock,
    BaseFencedLock,
    BaseMultiLock,
    BaseReadWriteLock,
    BaseRedLock,
    BaseSpinLock,
    ReadSide,
    WriteSide,
    checked_backoff,
    checked_members,
    checked_queue_timeout,
    may_stand,
    title_of,
)

if TYPE_CHECKING:
    from holdfast._locks import holders as late
else:
    late = Late("holdfast._locks.holders")  # dataclasses are slow to import


# Made by tools/tasks.py: FairLock, FencedLock, SpinLock, ReadLock, WriteLock, ReadWriteLock,
#   MultiLock, MajorityTaskWatcher, RedLock


class FairLock(BaseFairLock, Lock):
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
        **options: Unpack[TaskLockOptions],
    ) -> None:
        self._queue_timeout_ms = checked_queue_timeout(queue_timeout, client._lease_ms)
        super().__init__(client, name, **options)

    async def queue(self) -> list[late.Holder]:
        """Who waits for it, according to the server: the next one first, of all programs.

        ``holds`` is 0, and ``ttl`` how many seconds the waiter keeps its place if it has died. A
        waiter that has died before is left out.
        """
        return await drive(self._client, self._queue())

    async def position(self) -> int | None:
        """The place in ``queue()`` of this object's waiter; ``None`` when none waits.

        For other tasks to read: 0 is the next one. Of several owners that wait by one object it
        is that of the one that began to wait last; for others make an object each.
        """
        return await drive(self._client, self._position())


class FencedLock(BaseFencedLock, Lock):
    """A ``Lock`` with fencing tokens, by which a resource can refuse a late owner.

    Made by ``client.fenced_lock(name)``. ``token`` grows with each grant over all clients, also
    after the server has lost its data. Redisson's ``RFencedLock`` of the same name is the same
    lock; so is ``client.lock(name)``, whose grants have no token.
    """

    __slots__ = ()


class SpinLock(BaseSpinLock, Lock):
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
        **options: Unpack[TaskMinimumLockOptions],
    ) -> None:
        self._backoff = checked_backoff(backoff)
        super().__init__(client, name, **options)


class ReadLock(ReadSide, Lock):
    """The shared side of a read-write lock: any number of owners, while the write lock is free.

    Made by ``client.read_write_lock(name)``, as its ``read``; otherwise a ``Lock``. Readers do not
    wait for waiting writers.
    """

    __slots__ = ()


class WriteLock(WriteSide, Lock):
    """The exclusive side of a read-write lock: one owner, without other readers or writers.

    Made by ``client.read_write_lock(name)``, as its ``write``; otherwise a ``Lock``. Its owner may
    also read. Acquiring it while holding only the read lock raises ``LockError``, and nothing is
    sent.
    """

    __slots__ = ()


class ReadWriteLock(BaseReadWriteLock):
    """A reentrant lock that many may read or one may write, shared by all that use its name.

    Made by ``client.read_write_lock(name)``. ``read`` and ``write`` are its two locks, with
    separate holds, leases and losses. A task that writes may also read, and may go on reading
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
        **options: Unpack[TaskLockOptions],
    ) -> None:
        super().__init__(client, name)
        self.read = ReadLock(client, name, **options)
        self.write = WriteLock(client, name, **options)


class MultiLock(BaseMultiLock, Lock):
    """Several locks as one, held by a task: all of them, or none.

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
        **options: Unpack[TaskLockOptions],
    ) -> None:
        self._members = checked_members(type(self), locks, asynchronous=True)
        super().__init__(client, title_of(self._members), **options)


class MajorityTaskWatcher(TaskWatcher):
    """Reports the loss of a task's majority; the loss of a minority is not reported."""

    __slots__ = ("owner",)

    def __init__(self, lock: Lock) -> None:
        self.owner = lock._owner()
        super().__init__(lock)

    def _hold_lost(self, reason: str) -> None:
        if not may_stand(self, self.owner):
            super()._hold_lost(reason)


class RedLock(BaseRedLock, Lock):
    """A majority of several locks on independent servers (Redlock), held by a task.

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
        cancel_on_lost: bool = False,
        label: str | None = None,
    ) -> None:
        self._members = checked_members(type(self), locks, asynchronous=True)
        client, name = self._members[0]._client, title_of(self._members)
        super().__init__(
            client,
            name,
            lease=lease,
            wait=wait,
            on_lost=on_lost,
            cancel_on_lost=cancel_on_lost,
            label=label,
        )

    def _new_watcher(self) -> TaskWatcher:
        return MajorityTaskWatcher(self)
