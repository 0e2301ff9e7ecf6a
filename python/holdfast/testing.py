"""What a test does to a lock, and asks of it: the pytest plugin is built on this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast._engine.process import NO_OWNER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from holdfast._clients.base import BaseClient
    from holdfast._locks.base import BaseLock

__all__ = [
    "closed",
    "have_lost",
    "is_asynchronous",
    "is_closed",
    "is_held",
    "owners",
    "pause_renewals",
    "remove",
    "start_remove",
]


def __dir__() -> list[str]:
    return sorted({*__all__} | {name for name in globals() if name.startswith("__")})


def is_closed(client: BaseClient) -> bool:
    """Whether ``close()`` was called."""
    return client._core.closed


def closed(client: BaseClient) -> list[bytes]:
    """Begin to close the client, without a warning: the names that it still held."""
    return client._core.close(None, False).names


def pause_renewals(client: BaseClient, *, on: bool) -> None:
    """While it is on, the client renews nothing: leases run out."""
    client._core.pause_renewals(on)


def is_asynchronous(lock: BaseLock) -> bool:
    """Whether the lock is of an asyncio client."""
    return lock._client._asynchronous


def is_held(lock: BaseLock) -> bool:
    """Whether the caller holds it, as far as its client knows; no command is sent.

    Raises ``TypeError`` for what is not owned by its caller, such as a semaphore.
    """
    if not hasattr(getattr(lock, "_core", None), "known_count"):
        msg = f"lock must be a lock of a client, or a name, not {type(lock).__name__}"
        raise TypeError(msg)
    return lock._core.known_count(lock._owner()) > 0


def owners(lock: BaseLock) -> list[int]:
    """The owners that hold it by its client: threads, tasks and hold objects."""
    return [owner for owner, _ in lock._core.known_owners()]


def have_lost(lock: BaseLock, owners: Sequence[int]) -> bool:
    """Whether all these owners have learnt that they lost it."""
    return all(map(lock._core.known_lost, owners))


def remove(lock: BaseLock) -> None:
    """Remove all holds from the server, as another program would; blocks, with any client."""
    lock._core.force_release(NO_OWNER).wait()  # not the caller's: that would refuse no acquire


def start_remove(lock: BaseLock) -> Awaitable[Any]:
    """Remove all holds from the server, as another program would; to be awaited.

    For a lock of an asyncio client, whose event loop goes on meanwhile.
    """
    from holdfast._locks.task_steps import request

    return request(lock._client, lock._core.force_release(NO_OWNER))
