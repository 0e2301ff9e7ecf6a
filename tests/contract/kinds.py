"""The kinds of locks: one row each, and every contract test runs over all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.servers import Server

Name = str | bytes


@dataclass(frozen=True)
class Kind:
    """How one kind of lock is made, and what it is on the server.

    `make(client, name, **options)` constructs it; `channel(key)` is where its releases are
    announced; `holds(server, key)` are its owners on the server and their hold counts.

    `line(server, key)` is how many stand in line on the server, where it keeps one: then each
    waiter has a channel of its own, `channel(key)` with ":" and the owner behind it.
    """

    name: str
    class_name: str
    make: Callable[..., Any]
    channel: Callable[[Name], bytes]
    holds: Callable[[Server, Name], dict[bytes, int]]
    line: Callable[[Server, Name], int] | None = None
    commands_per_acquisition: Callable[[int], int] = lambda clients: 2 + clients
    """At most, with many waiters of so many clients."""

    def subscriptions(self, clients: int, waiters: int) -> int:
        """How many there are while so many waiters of so many clients wait for one name."""
        return waiters if self.line else clients

    def __repr__(self) -> str:
        return self.name


def as_bytes(name: Name) -> bytes:
    return name if isinstance(name, bytes) else name.encode()


def prefixed(prefix: bytes, name: Name) -> bytes:
    """A key or channel that is derived from a name."""
    key = as_bytes(name)
    return prefix + b":" + (key if b"{" in key else b"{" + key + b"}")


def _lock_channel(name: Name) -> bytes:
    return prefixed(b"redisson_lock__channel", name)


def _fair_line(server: Server, name: Name) -> int:
    return int(server.inspect.llen(prefixed(b"redisson_lock_queue", name)))


def _hash_holds(server: Server, name: Name) -> dict[bytes, int]:
    return {owner: int(count) for owner, count in server.inspect.hgetall(name).items()}


KINDS = (
    Kind(
        name="lock",
        class_name="Lock",
        make=lambda client, name, **options: client.lock(name, **options),
        channel=_lock_channel,
        holds=_hash_holds,
    ),
    Kind(
        name="fair_lock",
        class_name="FairLock",
        make=lambda client, name, **options: client.fair_lock(name, **options),
        channel=_lock_channel,
        holds=_hash_holds,
        line=_fair_line,
        # Each waiter asks for itself: for a place, when it is told, and at first once more in
        # between, when it has subscribed.
        commands_per_acquisition=lambda clients: 6,
    ),
)
