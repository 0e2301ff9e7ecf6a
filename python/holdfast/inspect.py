"""The locks of a deployment with their owners, of holdfast and of Redisson, without taking a lock.

    with holdfast.Client("redis://127.0.0.1:6379") as client:
        for info in holdfast.inspect.locks(client, "order:*"):
            print(info.name, [owner.id for owner in info.owners], info.ttl)

Each client gets one more connection to each primary, so that its locks do not wait behind a query.
Reading is done in short steps: ``SCAN`` over all primaries, and then only keys that can be part of
a lock; no step blocks the server for long. The functions may be called from any thread; they block,
with an asyncio client too (``asyncio.to_thread``).
"""

from __future__ import annotations

from holdfast_tools.inspect import (
    KINDS,
    ForcedRelease,
    LockDetail,
    LockInfo,
    Owner,
    OwnerClient,
    QueuedOwner,
    escaped,
    force_release,
    forced_releases,
    lock,
    locks,
    shown,
)

__all__ = [
    "KINDS",
    "ForcedRelease",
    "LockDetail",
    "LockInfo",
    "Owner",
    "OwnerClient",
    "QueuedOwner",
    "escaped",
    "force_release",
    "forced_releases",
    "lock",
    "locks",
    "shown",
]


def __dir__() -> list[str]:
    return sorted({*__all__} | {name for name in globals() if name.startswith("__")})
