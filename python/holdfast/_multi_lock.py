"""The lock made of several: all of them, or none."""

from __future__ import annotations

from . import _core
from ._arguments import Unpack
from ._base_client import BaseClient
from ._base_lock import BaseLock
from ._keywords import LockOptions
from ._lock import Lock
from ._quorum import QuorumSide, checked_members, cores_of, title_of

__all__ = ["BaseMultiLock", "MultiLock"]


class BaseMultiLock(QuorumSide):
    """The common part of the multi locks for threads and for tasks."""

    __slots__ = ()

    def _new_core(self, name: bytes) -> _core.Lockable:
        return _core.multi_lock(cores_of(self._members), name)


class MultiLock(BaseMultiLock, Lock):  # type: ignore[misc]
    """Several locks as one, held by a thread: all of them, or none.

    Made by ``client.multi_lock(*locks)``; the locks may belong to several clients, and be of any
    kinds. The ``lease``, ``wait`` and ``on_lost`` of the members are not used. A multi lock waits
    for another owner only while it holds no member, so two multi locks never wait for each other,
    whatever the order of their members. Redisson's ``RMultiLock`` of the same names takes the same
    locks.

    ``lost`` is true when any member is lost; ``ttl()`` and ``hold_count()`` are the minimum over
    the members; ``locked()`` is true when any member is held; ``force_release()`` frees them all.
    ``release()`` releases all members even when one is lost, and then raises.
    """

    __slots__ = ("_members",)

    def __init__(
        self,
        client: BaseClient,
        *locks: BaseLock,
        **options: Unpack[LockOptions],
    ) -> None:
        self._members = checked_members(type(self), locks, asynchronous=False)
        super().__init__(client, title_of(self._members), **options)
