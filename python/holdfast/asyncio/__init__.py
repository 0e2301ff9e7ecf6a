"""The same locks for asyncio: what talks to the server is awaited, and the owner is the task."""

from __future__ import annotations

from ._client import Client
from ._lock import Lock

__all__ = ["Client", "Lock"]

for _class in (Client, Lock):
    _class.__module__ = "holdfast.asyncio"
del _class
