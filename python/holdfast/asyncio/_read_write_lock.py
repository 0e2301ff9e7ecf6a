"""The read-write lock for asyncio: the twin of ``holdfast.ReadWriteLock``, with tasks as owners."""

from __future__ import annotations

from holdfast._arguments import Name, Unpack
from holdfast._base_client import BaseClient
from holdfast._keywords import TaskLockOptions
from holdfast._read_write_lock import BaseReadWriteLock, ReadSide, WriteSide

from ._lock import Lock

__all__ = ["ReadLock", "ReadWriteLock", "WriteLock"]


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
