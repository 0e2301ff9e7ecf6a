"""The same locks for asyncio: calls to the server are awaited, and the owner is the task."""

from __future__ import annotations

from asyncio import AbstractEventLoop

from holdfast._base_client import BaseClient
from holdfast._hints import complete as complete_hints
from holdfast._lock import BaseLock
from holdfast._options import Keywords, LockOptions, MinimumLockOptions
from holdfast._spin_lock import Backoff

from ._client import Client
from ._count_down_latch import CountDownLatch
from ._fair_lock import FairLock
from ._fenced_lock import FencedLock
from ._hold import Hold
from ._lock import Lock, TaskLockOptions, TaskMinimumLockOptions
from ._multi_lock import MultiLock
from ._permit_semaphore import PermitSemaphore
from ._read_write_lock import ReadLock, ReadWriteLock, WriteLock
from ._red_lock import RedLock
from ._semaphore import Semaphore
from ._spin_lock import SpinLock

__all__ = [
    "Client",
    "CountDownLatch",
    "FairLock",
    "FencedLock",
    "Hold",
    "Lock",
    "MultiLock",
    "PermitSemaphore",
    "ReadLock",
    "ReadWriteLock",
    "RedLock",
    "Semaphore",
    "SpinLock",
    "WriteLock",
]

for _class in [globals().get(_name) for _name in __all__]:
    if isinstance(_class, type) and _class.__module__.startswith("holdfast.asyncio._"):
        _class.__module__ = "holdfast.asyncio"
del _class
complete_hints(
    "holdfast.asyncio",
    BaseClient=BaseClient,
    BaseLock=BaseLock,
    Lock=Lock,
    Hold=Hold,
    Keywords=Keywords,
    LockOptions=LockOptions,
    MinimumLockOptions=MinimumLockOptions,
    TaskLockOptions=TaskLockOptions,
    TaskMinimumLockOptions=TaskMinimumLockOptions,
    AbstractEventLoop=AbstractEventLoop,
    Backoff=Backoff,
)
