"""The kinds of locks for asyncio, each the twin of that for threads, with a task as its owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast._clients.base import BaseClient
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
from holdfast._engine.loop import owner_of_this_task
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

__all__ = [
    "FairLock",
    "FencedLock",
    "MultiLock",
    "ReadLock",
    "ReadWriteLock",
    "RedLock",
    "SpinLock",
    "WriteLock",
]


class FairLock(BaseFairLock, Lock):
    """A reentrant lock that is granted in the order of the requests.

    Made by ``client.fair_lock(name)``. Otherwise as ``holdfast.asyncio.Lock``; ``queue_timeout`` as
    that of ``holdfast.FairLock``.
    """

    __slots__ = ("_queue_timeout_ms",)

    def __init__(
        self,
        client: BaseClient,
        name: Name,
        *,
        queue_timeout: Seconds | None = None,
        **options: Unpack[TaskLockOptions],
    ) -> None:
        self._queue_timeout_ms = checked_queue_timeout(queue_timeout, client._lease_ms)
        super().__init__(client, name, **options)

    async def queue(self) -> list[late.Holder]:
        """Who waits for it, according to the server, as ``holdfast.FairLock.queue``."""
        return await drive(self._queue())

    async def position(self) -> int | None:
        """The place of this object's waiter, as ``holdfast.FairLock.position``."""
        return await drive(self._position())


class FencedLock(BaseFencedLock, Lock):
    """A ``Lock`` with fencing tokens, by which a resource can refuse a late owner.

    Made by ``client.fenced_lock(name)``; as ``holdfast.FencedLock``, with the task as owner.
    """

    __slots__ = ()


class SpinLock(BaseSpinLock, Lock):
    """A ``Lock`` with waiters that poll the server, with rests in between.

    Made by ``client.spin_lock(name)``; as ``holdfast.SpinLock``, with the task as owner.
    """

    __slots__ = ("_backoff",)

    def __init__(
        self,
        client: BaseClient,
        name: Name,
        *,
        backoff: Backoff | Seconds = EXPONENTIAL,
        **options: Unpack[TaskMinimumLockOptions],
    ) -> None:
        self._backoff = checked_backoff(backoff)
        super().__init__(client, name, **options)


class ReadLock(ReadSide, Lock):
    """The shared side of a read-write lock, as ``holdfast.ReadLock``."""

    __slots__ = ()


class WriteLock(WriteSide, Lock):
    """The exclusive side of a read-write lock, as ``holdfast.WriteLock``."""

    __slots__ = ()


class ReadWriteLock(BaseReadWriteLock):
    """A reentrant lock that many tasks may read or one may write, as ``holdfast.ReadWriteLock``."""

    __slots__ = ("read", "write")

    #: The shared side.
    read: ReadLock
    #: The exclusive side.
    write: WriteLock

    def __init__(
        self,
        client: BaseClient,
        name: Name,
        **options: Unpack[TaskLockOptions],
    ) -> None:
        super().__init__(client, name)
        self.read = ReadLock(client, name, **options)
        self.write = WriteLock(client, name, **options)


class MultiLock(BaseMultiLock, Lock):
    """Several locks as one, held by a task: all of them, or none. As ``holdfast.MultiLock``."""

    __slots__ = ("_members",)

    def __init__(
        self,
        client: BaseClient,
        *locks: BaseLock,
        **options: Unpack[TaskLockOptions],
    ) -> None:
        self._members = checked_members(type(self), locks, asynchronous=True)
        super().__init__(client, title_of(self._members), **options)


class MajorityTaskWatcher(TaskWatcher):
    """Reports the loss of a task's majority; the loss of a minority is not reported."""

    __slots__ = ("owner",)

    def __init__(self, lock: Lock) -> None:
        self.owner = owner_of_this_task()
        super().__init__(lock)

    def _hold_lost(self, reason: str) -> None:
        if not may_stand(self, self.owner):
            super()._hold_lost(reason)


class RedLock(BaseRedLock, Lock):
    """A majority of locks on independent servers, held by a task. As ``holdfast.RedLock``."""

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
        super().__init__(
            self._members[0]._client,
            title_of(self._members),
            lease=lease,
            wait=wait,
            on_lost=on_lost,
            cancel_on_lost=cancel_on_lost,
            label=label,
        )

    def _new_watcher(self) -> TaskWatcher:
        return MajorityTaskWatcher(self)
