"""The lock made of several for asyncio: the twin of ``holdfast.MultiLock``."""

from __future__ import annotations

from holdfast._arguments import Unpack
from holdfast._base_client import BaseClient
from holdfast._base_lock import BaseLock
from holdfast._keywords import TaskLockOptions
from holdfast._multi_lock import BaseMultiLock
from holdfast._quorum import checked_members, title_of

from ._lock import Lock

__all__ = ["MultiLock"]


class MultiLock(BaseMultiLock, Lock):
    """Several locks as one, held by a task: all of them, or none. As ``holdfast.MultiLock``."""

    __slots__ = ("_members",)

    def __init__(
        self,
        client: BaseClient,
        *locks: BaseLock,
        **options: Unpack[TaskLockOptions],
    ) -> None:
        self._members = checked_members(type(self), locks, asynchronous=True)
        super().__init__(client, title_of(self._members), **options)
