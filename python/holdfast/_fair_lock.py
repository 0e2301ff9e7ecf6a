"""The fair lock."""

from __future__ import annotations

from typing import Final

from . import _core
from ._arguments import Name, Seconds, Unpack, milliseconds
from ._base_client import BaseClient
from ._base_lock import BaseLock
from ._keywords import LockOptions
from ._lock import Lock

__all__ = ["BaseFairLock", "FairLock", "checked_queue_timeout"]

#: A place must outlast the pauses of a live waiter, which refreshes it three times as often.
SHORTEST_QUEUE_TIMEOUT_MS: Final = 100


def checked_queue_timeout(queue_timeout: Seconds | None, watchdog_ms: int) -> int:
    """Milliseconds; ``None`` means: as long as the watchdog's lease."""
    given = watchdog_ms if queue_timeout is None else milliseconds("queue_timeout", queue_timeout)
    return max(SHORTEST_QUEUE_TIMEOUT_MS, given)


class BaseFairLock(BaseLock):
    """The common part of the fair locks for threads and for tasks."""

    __slots__ = ()

    _word = "fair_lock"
    _queue_timeout_ms: int

    def _new_core(self, name: bytes) -> _core.Lock:
        timeout_ms = self._queue_timeout_ms
        return _core.new_lock(self._client._core, self._word, name, 0, timeout_ms, None)


class FairLock(BaseFairLock, Lock):  # type: ignore[misc]
    """A reentrant lock that is granted in the order of the requests.

    Made by ``client.fair_lock(name)``. Otherwise as ``holdfast.Lock``. The order holds over all
    threads, tasks and processes that wait for the name, and over those of Redisson's ``RFairLock``.
    An attempt without waiting does not overtake the waiters.

    ``queue_timeout`` (seconds, by default the client's ``lease``, at least 0.1): how long a waiter
    that has died keeps its place. A live waiter refreshes its place automatically.

    What it guarantees, and what it does not, is in ``docs/synchronizers/fair_lock.md``.
    """

    __slots__ = ("_queue_timeout_ms",)

    def __init__(
        self,
        client: BaseClient,
        name: Name,
        *,
        queue_timeout: Seconds | None = None,
        **options: Unpack[LockOptions],
    ) -> None:
        self._queue_timeout_ms = checked_queue_timeout(queue_timeout, client._lease_ms)
        super().__init__(client, name, **options)
