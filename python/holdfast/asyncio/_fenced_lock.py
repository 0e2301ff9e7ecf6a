"""The fenced lock for asyncio: the twin of ``holdfast.FencedLock``, with its owner a task."""

from __future__ import annotations

from holdfast._fenced_lock import BaseFencedLock

from ._lock import Lock

__all__ = ["FencedLock"]


class FencedLock(BaseFencedLock, Lock):
    """A ``Lock`` with fencing tokens, by which a resource can refuse a late owner.

    Made by ``client.fenced_lock(name)``; as ``holdfast.FencedLock``, with the task as owner.
    """

    __slots__ = ()
