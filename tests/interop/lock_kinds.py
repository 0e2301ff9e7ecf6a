"""The kinds of locks that Java and Python share, for the tests that hold for each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.interop.java_objects import JavaLock
from tests.interop.java_peer import JavaPeer
from tests.interop.wire import FairKey, LockKey, ReadWriteKey, SpinKey


@dataclass(frozen=True)
class LockKind:
    """A kind: what it is on the server, in Java (the peer's word for it) and in Python."""

    word: str
    key: type[LockKey]
    java: str
    python: Callable[..., Any]
    stand_in: tuple[str, str] | None = None
    """A release that lacks the kind, and the kind of that release which takes the same keys."""
    leases_add_up: bool = False
    """Whether a nested hold adds its lease to what is left."""

    def java_in(self, release: str) -> str:
        """Java's part in a release."""
        if self.stand_in and self.stand_in[0] == release:
            return self.stand_in[1]
        return self.java


LOCK_KINDS = (
    LockKind("lock", LockKey, "lock", lambda client, name, **more: client.lock(name, **more)),
    LockKind("fair", FairKey, "fair", lambda client, name, **more: client.fair_lock(name, **more)),
    LockKind(
        "write",
        ReadWriteKey,
        "write",
        lambda client, name, **more: client.read_write_lock(name, **more).write,
        leases_add_up=True,
    ),
    LockKind(
        "fenced",
        LockKey,
        "fenced",
        lambda client, name, **more: client.fenced_lock(name, **more),
        stand_in=("3.17.6", "lock"),
    ),
    LockKind("spin", SpinKey, "spin", lambda client, name, **more: client.spin_lock(name, **more)),
)


@dataclass(frozen=True)
class SharedLock:
    """One lock that Java and Python share."""

    kind: LockKind
    release: str
    key: LockKey

    def java(self, peer: JavaPeer, thread: str = "t1") -> JavaLock:
        """The lock as a thread of the peer sees it."""
        return peer.lock(self.key.name, thread, self.kind.java_in(self.release))

    def python(self, client: Any, **options: Any) -> Any:
        """The lock of a client, a blocking one or one of asyncio."""
        return self.kind.python(client, self.key.name, **options)

    def most_left(self, lease: float, holds: int) -> float:
        """The longest time to live after `holds` holds with this lease."""
        return lease * holds if self.kind.leases_add_up else lease
