"""The lock made of several for asyncio: the twin of ``holdfast.MultiLock``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast import _core
from holdfast._lock import BaseLock
from holdfast._quorum import QuorumSide, checked_members, cores_of, title_of

from ._lock import Lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast._arguments import Seconds
    from holdfast._client import BaseClient

__all__ = ["MultiLock"]


class MultiLock(QuorumSide, Lock):
    """Several locks as one, held by a task: all of them, or none. As ``holdfast.MultiLock``."""

    __slots__ = ("_members",)

    def __init__(
        self,
        client: BaseClient[Any],
        *locks: BaseLock[Any],
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[Any], object] | None = None,
        cancel_on_lost: bool = False,
    ) -> None:
        self._members = checked_members(type(self), locks, asynchronous=True)
        super().__init__(
            client,
            title_of(self._members),
            lease=lease,
            wait=wait,
            on_lost=on_lost,
            cancel_on_lost=cancel_on_lost,
        )

    def _new_core(self, name: bytes) -> _core.Lockable:
        return _core.multi_lock(cores_of(self._members), name)
