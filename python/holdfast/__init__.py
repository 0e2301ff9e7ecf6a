"""Distributed locks on Redis and Valkey, shared with Java's Redisson.

``with holdfast.Client("redis://127.0.0.1:6379").lock("myLock"):`` holds a lock across all processes
that use the name. For asyncio: ``holdfast.asyncio.Client``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._base_client import BaseClient
from ._client import Client, set_watchdog_threads
from ._core import __version__
from ._count_down_latch import CountDownLatch
from ._errors import (
    ConnectionError as ConnectionError,  # not in __all__: `import *` must not hide the built-in
)
from ._errors import (
    HoldfastError,
    LockError,
    LockLostError,
    LockTimeout,
    NotOwnedError,
    ServerError,
)
from ._fair_lock import FairLock
from ._fenced_lock import FencedLock
from ._hints import complete as complete_hints
from ._hold import Hold
from ._lock import BaseLock, Lock
from ._multi_lock import MultiLock
from ._options import Keywords, LockOptions, MinimumLockOptions
from ._permit_semaphore import PermitSemaphore
from ._read_write_lock import ReadLock, ReadWriteLock, WriteLock
from ._red_lock import RedLock
from ._semaphore import Semaphore
from ._spin_lock import Backoff, SpinLock

if TYPE_CHECKING:
    from . import asyncio, inspect
    from ._stats import Histogram, Stats

__all__ = [
    "Backoff",
    "Client",
    "CountDownLatch",
    "FairLock",
    "FencedLock",
    "Histogram",
    "Hold",
    "HoldfastError",
    "Lock",
    "LockError",
    "LockLostError",
    "LockTimeout",
    "MultiLock",
    "NotOwnedError",
    "PermitSemaphore",
    "ReadLock",
    "ReadWriteLock",
    "RedLock",
    "Semaphore",
    "ServerError",
    "SpinLock",
    "Stats",
    "WriteLock",
    "__version__",
    "asyncio",
    "inspect",
    "set_watchdog_threads",
]

for _class in [globals().get(_name) for _name in __all__]:
    if isinstance(_class, type) and _class.__module__.startswith("holdfast._"):
        _class.__module__ = "holdfast"
del _class
complete_hints(
    "holdfast",
    BaseClient=BaseClient,
    BaseLock=BaseLock,
    Lock=Lock,
    Hold=Hold,
    Keywords=Keywords,
    LockOptions=LockOptions,
    MinimumLockOptions=MinimumLockOptions,
)


def __getattr__(name: str) -> Any:
    # Imported on first use, to keep the import of the package fast.
    if name in {"asyncio", "inspect"}:
        import importlib

        return importlib.import_module(f"holdfast.{name}")
    if name in {"Histogram", "Stats"}:  # dataclasses are slow to import
        from . import _stats

        # Annotations are evaluated in this module.
        globals().update(Histogram=_stats.Histogram, Stats=_stats.Stats)
        return globals()[name]
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
