"""The fair lock for asyncio: the twin of ``holdfast.FairLock``, with its owner a task."""

from __future__ import annotations

from holdfast._arguments import Name, Seconds, Unpack
from holdfast._base_client import BaseClient
from holdfast._fair_lock import BaseFairLock, checked_queue_timeout
from holdfast._keywords import TaskLockOptions

from ._lock import Lock

__all__ = ["FairLock"]


class FairLock(BaseFairLock, Lock):
    """A reentrant lock that is granted in the order of the requests.

    Made by ``client.fair_lock(name)``. Otherwise as ``holdfast.asyncio.Lock``; ``queue_timeout`` as
    that of ``holdfast.FairLock``.
    """

    __slots__ = ("_queue_timeout_ms",)

    def __init__(
        self,
        client: BaseClient,
        name: Name,
        *,
        queue_timeout: Seconds | None = None,
        **options: Unpack[TaskLockOptions],
    ) -> None:
        self._queue_timeout_ms = checked_queue_timeout(queue_timeout, client._lease_ms)
        super().__init__(client, name, **options)
