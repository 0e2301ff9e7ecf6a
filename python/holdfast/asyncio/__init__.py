"""The same locks for asyncio: what talks to the server is awaited, and the owner is the task."""

from __future__ import annotations

from ._client import Client
from ._count_down_latch import CountDownLatch
from ._lock import Lock
from ._semaphore import Semaphore

__all__ = ["Client", "CountDownLatch", "Lock", "Semaphore"]

for _class in (Client, CountDownLatch, Lock, Semaphore):
    _class.__module__ = "holdfast.asyncio"
del _class
