"""Locks, and holds on them, as their keys have them."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Held", "Hold"]


@dataclass
class Hold:
    """One hold on a lock, as its keys have it."""

    owner: bytes
    count: int
    mode: str | None = None
    #: Of a slot's permit: its value or number, and the owner that its client has given it.
    slot: str | None = None
    taker: bytes = b""


@dataclass
class Held:
    """A lock as its keys have it."""

    name: bytes
    kind: str
    holds: list[Hold]
    ttl: float | None
    #: Of a fair lock: the length of its queue.
    queued: int = 0
    #: Of a permit semaphore.
    free: int | None = None
    channel: bytes = field(default=b"")
    #: What is built on it, one of ``holdfast.servers.BUILT``; empty: nothing that is known.
    use: str = ""
    #: Of a leader: what it has announced.
    value: bytes | None = None
    #: Of a barrier: how many have to wait, and whether it is broken.
    parties: int | None = None
    broken: bool | None = None
    #: Whether some of its holds are left out.
    truncated: bool = False
