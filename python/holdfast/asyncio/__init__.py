"""The same locks for asyncio: calls to the server are awaited, and the owner is the task."""

from __future__ import annotations

from asyncio import AbstractEventLoop

from holdfast._base_client import BaseClient
from holdfast._base_lock import BaseLock
from holdfast._hints import adopt
from holdfast._hints import complete as complete_hints
from holdfast._keywords import (
    LockOptions,
    MinimumLockOptions,
    TaskLockOptions,
    TaskMinimumLockOptions,
)
from holdfast._spin_lock import Backoff

from . import _client
from ._client import *  # noqa: F403 - a client, and all that it makes
from ._lock import Hold, Lock
from ._red_lock import RedLock

__all__ = ["Hold", "RedLock"]
__all__ += _client.__all__

adopt("holdfast.asyncio", [globals().get(name) for name in __all__])
complete_hints(
    "holdfast.asyncio",
    BaseClient=BaseClient,
    BaseLock=BaseLock,
    Lock=Lock,
    Hold=Hold,
    LockOptions=LockOptions,
    MinimumLockOptions=MinimumLockOptions,
    TaskLockOptions=TaskLockOptions,
    TaskMinimumLockOptions=TaskMinimumLockOptions,
    AbstractEventLoop=AbstractEventLoop,
    Backoff=Backoff,
)
