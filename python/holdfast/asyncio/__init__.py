"""The same locks for asyncio: what talks to the server is awaited, and the owner is the task."""

from __future__ import annotations

from ._client import Client
from ._fair_lock import FairLock
from ._lock import Lock

__all__ = ["Client", "FairLock", "Lock"]

for _class in (Client, FairLock, Lock):
    _class.__module__ = "holdfast.asyncio"
del _class
