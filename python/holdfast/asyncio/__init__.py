"""The same locks for asyncio: what talks to the server is awaited, and the owner is the task."""

from __future__ import annotations

from ._client import Client
from ._lock import Lock
from ._permit_semaphore import PermitSemaphore

__all__ = ["Client", "Lock", "PermitSemaphore"]

for _class in (Client, Lock, PermitSemaphore):
    _class.__module__ = "holdfast.asyncio"
del _class
