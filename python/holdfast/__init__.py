"""Distributed locks on Redis and Valkey, shared with Java's Redisson.

A process makes one client and shares it among its threads::

    client = holdfast.Client("redis://127.0.0.1:6379/0")

    with client.lock("myLock"):
        print("one at a time, of all processes that use the name")

For asyncio: ``holdfast.asyncio.Client``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _client
from ._client import *  # noqa: F403 - a client, and all that it makes
from ._core import __version__
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
    StaleTokenError,
)
from ._lock import Hold
from ._red_lock import RedLock
from ._spin_lock import Backoff

if TYPE_CHECKING:
    from . import asyncio, inspect
    from ._stats import Histogram, Stats

__all__ = [
    "Backoff",
    "Histogram",
    "Hold",
    "HoldfastError",
    "LockError",
    "LockLostError",
    "LockTimeout",
    "NotOwnedError",
    "RedLock",
    "ServerError",
    "StaleTokenError",
    "Stats",
    "__version__",
    "asyncio",
    "inspect",
]
__all__ += _client.__all__


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
