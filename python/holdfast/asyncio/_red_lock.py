"""The lock made of a majority for asyncio: the twin of ``holdfast.RedLock``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast._arguments import LOCK_KEYWORDS, Seconds, instead_of
from holdfast._base_lock import BaseLock
from holdfast._quorum import checked_members, may_stand, title_of
from holdfast._red_lock import BaseRedLock

from ._lock import Lock, TaskWatcher
from ._loop import owner_of_this_task

__all__ = ["RedLock"]


class MajorityTaskWatcher(TaskWatcher):
    """Reports the loss of a task's majority; the loss of a minority is not reported."""

    __slots__ = ("owner",)

    def __init__(self, lock: Lock) -> None:
        self.owner = owner_of_this_task()
        super().__init__(lock)

    def _hold_lost(self, reason: str) -> None:
        if not may_stand(self, self.owner):
            super()._hold_lost(reason)


class RedLock(BaseRedLock, Lock):
    """A majority of locks on independent servers, held by a task. As ``holdfast.RedLock``."""

    __slots__ = ("_members",)

    @instead_of(LOCK_KEYWORDS, "RedLock")
    def __init__(
        self,
        *locks: BaseLock,
        lease: Seconds | None = None,
        wait: Seconds | None = None,
        on_lost: Callable[[Any], object] | None = None,
        cancel_on_lost: bool = False,
    ) -> None:
        self._members = checked_members(type(self), locks, asynchronous=True)
        super().__init__(
            self._members[0]._client,
            title_of(self._members),
            lease=lease,
            wait=wait,
            on_lost=on_lost,
            cancel_on_lost=cancel_on_lost,
        )

    def _new_watcher(self) -> TaskWatcher:
        return MajorityTaskWatcher(self)
