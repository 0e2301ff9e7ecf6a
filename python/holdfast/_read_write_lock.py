"""The read-write lock: two locks of one name, of which the read lock is shared."""

from __future__ import annotations

from ._arguments import Name, Unpack
from ._base_client import BaseClient
from ._base_lock import BaseLock
from ._core import Lock as CoreLock
from ._errors import LockError
from ._keywords import LockOptions
from ._lock import Lock
from ._names import quoted
from ._synchronizer import Synchronizer

__all__ = ["BaseReadWriteLock", "ReadLock", "ReadSide", "ReadWriteLock", "WriteLock", "WriteSide"]


class ReadSide(BaseLock):
    """The common part of the read locks for threads and for tasks."""

    __slots__ = ()

    _word = "read_lock"


class WriteSide(BaseLock):
    """The common part of the write locks for threads and for tasks."""

    __slots__ = ()

    _word = "write_lock"
    _may_wait_for_itself = True

    _core: CoreLock

    def _refuse_upgrade(self) -> None:
        owner = self._owner()
        if self._core.known_reads(owner) and not self._core.known_count(owner):
            msg = (
                f"this {self._owner_word} holds the read lock of {quoted(self.name)} and would "
                "wait for itself; release the read lock first, or acquire the write lock before it"
            )
            raise LockError(msg)


class ReadLock(ReadSide, Lock):  # type: ignore[misc]
    """The shared side of a read-write lock: any number of owners, while the write lock is free.

    ``read_write_lock.read``; otherwise a ``Lock``. Readers do not wait for waiting writers.
    """

    __slots__ = ()


class WriteLock(WriteSide, Lock):  # type: ignore[misc]
    """The exclusive side of a read-write lock: one owner, without other readers or writers.

    ``read_write_lock.write``; otherwise a ``Lock``. Its owner may also read. Acquiring it while
    holding only the read lock raises ``LockError``, and nothing is sent.
    """

    __slots__ = ()


class BaseReadWriteLock(Synchronizer):
    """The common part of the read-write locks for threads and for tasks."""

    __slots__ = ()


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
        client: BaseClient,
        name: Name,
        **options: Unpack[LockOptions],
    ) -> None:
        super().__init__(client, name)
        self.read = ReadLock(client, name, **options)
        self.write = WriteLock(client, name, **options)
