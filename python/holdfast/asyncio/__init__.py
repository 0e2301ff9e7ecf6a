"""The same locks for asyncio: what talks to the server is awaited, and the owner is the task."""

from __future__ import annotations

from ._client import Client
from ._lock import Lock
from ._read_write_lock import ReadLock, ReadWriteLock, WriteLock

__all__ = ["Client", "Lock", "ReadLock", "ReadWriteLock", "WriteLock"]

for _class in (Client, Lock, ReadLock, ReadWriteLock, WriteLock):
    _class.__module__ = "holdfast.asyncio"
del _class
