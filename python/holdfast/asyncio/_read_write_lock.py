"""The read-write lock for asyncio: the twin of ``holdfast.ReadWriteLock``, with tasks as owners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast._read_write_lock import BaseReadWriteLock, ReadSide, WriteSide

from ._lock import Lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast._arguments import Name, Seconds
    from holdfast._client import BaseClient

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
        client: BaseClient[Any],
        name: Name,
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[Any], object] | None = None,
        cancel_on_lost: bool = False,
    ) -> None:
        self.name = name
        self.read = ReadLock(
            client, name, lease=lease, wait=wait, on_lost=on_lost, cancel_on_lost=cancel_on_lost
        )
        self.write = WriteLock(
            client, name, lease=lease, wait=wait, on_lost=on_lost, cancel_on_lost=cancel_on_lost
        )
