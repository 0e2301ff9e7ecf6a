"""The spin lock for asyncio: the twin of ``holdfast.SpinLock``, with its owner a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast._spin_lock import EXPONENTIAL, Backoff, BaseSpinLock, checked_backoff

from ._lock import Lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast._arguments import Name, Seconds
    from holdfast._client import BaseClient

__all__ = ["SpinLock"]


class SpinLock(BaseSpinLock[Any], Lock):
    """A ``Lock`` whose waiters poll the server, with rests in between.

    Made by ``client.spin_lock(name)``; as ``holdfast.SpinLock``, with the task as owner.
    """

    __slots__ = ("_backoff",)

    def __init__(
        self,
        client: BaseClient[Any],
        name: Name,
        backoff: Backoff | Seconds = EXPONENTIAL,
        *,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[Any], object] | None = None,
        at_least: Seconds | None = None,
        cancel_on_lost: bool = False,
    ) -> None:
        self._backoff = checked_backoff(backoff)
        super().__init__(
            client,
            name,
            lease=lease,
            wait=wait,
            on_lost=on_lost,
            at_least=at_least,
            cancel_on_lost=cancel_on_lost,
        )
