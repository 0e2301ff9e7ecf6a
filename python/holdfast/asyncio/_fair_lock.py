"""The fair lock for asyncio: the twin of ``holdfast.FairLock``, with its owner a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast._arguments import Name, Seconds
from holdfast._fair_lock import checked_queue_timeout

from ._lock import Lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast import _core
    from holdfast._client import BaseClient

__all__ = ["FairLock"]


class FairLock(Lock):
    """A reentrant lock that is granted in the order of the requests.

    Made by ``client.fair_lock(name)``. Otherwise as ``holdfast.asyncio.Lock``; ``queue_timeout`` as
    that of ``holdfast.FairLock``.
    """

    __slots__ = ("_queue_timeout_ms",)

    def __init__(
        self,
        client: BaseClient[Any],
        name: Name,
        queue_timeout: Seconds | None = None,
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[FairLock], object] | None = None,
        cancel_on_lost: bool = False,
    ) -> None:
        self._queue_timeout_ms = checked_queue_timeout(queue_timeout, client._lease_ms)
        super().__init__(
            client, name, lease=lease, wait=wait, on_lost=on_lost, cancel_on_lost=cancel_on_lost
        )

    def _new_core(self, name: bytes) -> _core.Lock:
        return self._client._core.fair_lock(name, self._queue_timeout_ms)
