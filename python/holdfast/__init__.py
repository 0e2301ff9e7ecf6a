"""Distributed locks on Redis and Valkey, shared with Java's Redisson.

A process makes one client and shares it among its threads:

    client = holdfast.Client("redis://127.0.0.1:6379/0")

    with client.lock("myLock"):
        print("one at a time, of all processes that use the name")

For asyncio: ``holdfast.asyncio.Client``; for trio and anyio: ``holdfast.trio.Client`` and
``holdfast.anyio.Client``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import holdfast._as_command  # noqa: F401 - for what it does  # pyright: ignore[reportUnusedImport]
from holdfast._clients import threads as _client
from holdfast._core import __version__
from holdfast._engine.errors import (
    BrokenBarrierError,
    HoldfastError,
    LockError,
    LockLostError,
    LockTimeout,
    NotOwnedError,
    ResultNotKeptError,
    ServerError,
    StaleTokenError,
)
from holdfast._engine.errors import (
    ConnectionError as ConnectionError,  # not in __all__: `import *` must not hide the built-in
)
from holdfast._locks.lock import Hold
from holdfast._locks.threads import Backoff, RedLock

from ._clients.threads import *  # noqa: F403 - a client, and all that it makes

if TYPE_CHECKING:
    from holdfast import asyncio, inspect
    from holdfast._engine.stats import Histogram, Stats
    from holdfast._locks.barrier import Barrier
    from holdfast._locks.holders import Holder
    from holdfast._locks.leader import Leader, LeaderInfo
    from holdfast._locks.once import Once
    from holdfast._locks.slots import Slot, Slots

#: The modules that are imported on first use, to keep the import of the package fast.
_LATE = {
    "Barrier": "holdfast._locks.barrier",
    "Histogram": "holdfast._engine.stats",
    "Holder": "holdfast._locks.holders",
    "Leader": "holdfast._locks.leader",
    "LeaderInfo": "holdfast._locks.leader",
    "Once": "holdfast._locks.once",
    "Slot": "holdfast._locks.slots",
    "Slots": "holdfast._locks.slots",
    "Stats": "holdfast._engine.stats",
    "asyncio": "holdfast.asyncio",
    "inspect": "holdfast.inspect",
}

__all__: list[str] = []
__all__ += _client.__all__
__all__ += [
    "Backoff",
    "Barrier",
    "BrokenBarrierError",
    "Histogram",
    "Hold",
    "Holder",
    "HoldfastError",
    "Leader",
    "LeaderInfo",
    "LockError",
    "LockLostError",
    "LockTimeout",
    "NotOwnedError",
    "Once",
    "RedLock",
    "ResultNotKeptError",
    "ServerError",
    "Slot",
    "Slots",
    "StaleTokenError",
    "Stats",
    "__version__",
    "asyncio",
    "inspect",
]


def __dir__() -> list[str]:
    special = {name for name in globals() if name.startswith("__")}
    return sorted({*__all__, "ConnectionError"} | special)


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    import importlib

    found = importlib.import_module(_LATE[name])
    if found.__name__ != f"holdfast.{name}":
        found = getattr(found, name)
    globals()[name] = found  # annotations are evaluated in this module
    return found
