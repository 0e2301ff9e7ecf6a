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

from typing import TYPE_CHECKING

from holdfast import servers
from holdfast.integration import checked_name, encoded_text

from ._lookup import lookup
from ._model import (
    KINDS,
    ForcedRelease,
    LockDetail,
    LockInfo,
    Owner,
    OwnerClient,
    QueuedOwner,
)
from ._names import escaped, shown
from ._scan import scan

if TYPE_CHECKING:
    from holdfast.integration import BaseClient, Name

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


def locks(client: BaseClient, pattern: Name | None = None) -> list[LockInfo]:
    """The locks that are held, by name, including permit semaphores with permits in use.

    ``pattern``: a glob over the whole name, as that of ``SCAN MATCH``; ``None`` lists all. Of a
    client with a ``name_prefix`` only the names that begin with it are listed, without it. Of
    semaphores without leases and latches those are listed for which somebody waits, and semaphores
    whose permits are all in use, for as long as the server has a request of holdfast for them (four
    times the client's ``command_timeout``); the others look like plain counters: ``lock()`` shows
    them by name.

    Raises ``ConnectionError`` or ``ServerError``, and ``TypeError`` for another type.
    """
    deployment = servers.of(client)
    return scan(deployment, b"*" if pattern is None else encoded_text("pattern", pattern))


def lock(client: BaseClient, name: Name, kind: str | None = None) -> LockDetail | None:
    """One lock, semaphore or latch, with all details; ``None`` if there is none.

    ``kind``: the kind to read the key as, one of ``KINDS``; ``None``: found from the keys. A
    counter may be a semaphore or a latch: see ``LockDetail.certain``.

    Raises ``LockError`` if the key is something else, ``ConnectionError`` or ``ServerError``, and
    ``TypeError`` or ``ValueError`` for a bad name or kind.
    """
    deployment = servers.of(client)
    if kind is not None and kind not in KINDS:
        msg = f"kind must be one of {', '.join(KINDS)}, not {kind!r}"
        raise ValueError(msg)
    return lookup(deployment, checked_name("name", name), kind)


def force_release(client: BaseClient, name: Name) -> bool:
    """Release a lock for any owner; ``False`` if it is free. Waiters wake.

    The release is recorded beside the lock for 30 days: see ``forced_releases()``. A former owner
    of holdfast finds the record when it learns of the loss, and logs it.

    For a permit semaphore, all permits in use are released. Raises ``LockError`` for kinds without
    owners (semaphores, latches) and for keys that are not locks; otherwise as ``lock()``.
    """
    deployment = servers.of(client)
    encoded = checked_name("name", name)
    found = lookup(deployment, encoded, None)
    if found is None:
        return False
    owners = [owner.id for owner in found.owners]
    return deployment.force_release(encoded, found.kind, owners)


def forced_releases(client: BaseClient, name: Name) -> tuple[ForcedRelease, ...]:
    """The latest ten releases of this name by ``force_release()``, the newest first.

    They are kept for 30 days after the last one. None, if this user may not read them. Raises as
    ``lock()``.
    """
    deployment = servers.of(client)
    key = deployment.prefix + checked_name("name", name)
    return servers.forced_releases(lambda commands: deployment.ask(key, commands), key)
