"""The spin lock for asyncio: the twin of ``holdfast.SpinLock``, with its owner a task."""

from __future__ import annotations

from holdfast._arguments import Name, Seconds, Unpack
from holdfast._base_client import BaseClient
from holdfast._keywords import TaskMinimumLockOptions
from holdfast._spin_lock import EXPONENTIAL, Backoff, BaseSpinLock, checked_backoff

from ._lock import Lock

__all__ = ["SpinLock"]


class SpinLock(BaseSpinLock, Lock):
    """A ``Lock`` with waiters that poll the server, with rests in between.

    Made by ``client.spin_lock(name)``; as ``holdfast.SpinLock``, with the task as owner.
    """

    __slots__ = ("_backoff",)

    def __init__(
        self,
        client: BaseClient,
        name: Name,
        *,
        backoff: Backoff | Seconds = EXPONENTIAL,
        **options: Unpack[TaskMinimumLockOptions],
    ) -> None:
        self._backoff = checked_backoff(backoff)
        super().__init__(client, name, **options)
