"""The same locks for asyncio: what talks to the server is awaited, and the owner is the task."""

from __future__ import annotations

from ._client import Client
from ._lock import Lock
from ._multi_lock import MultiLock
from ._red_lock import RedLock

__all__ = ["Client", "Lock", "MultiLock", "RedLock"]

for _class in (Client, Lock, MultiLock, RedLock):
    _class.__module__ = "holdfast.asyncio"
del _class
