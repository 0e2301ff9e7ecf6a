"""The details of a lock, and their form as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from holdfast import servers
from holdfast.servers import ForcedRelease, OwnerClient

__all__ = [
    "KINDS",
    "ForcedRelease",
    "LockDetail",
    "LockInfo",
    "Owner",
    "OwnerClient",
    "QueuedOwner",
]

#: What a key may be taken for. A fenced lock is a lock with a token.
KINDS: Final = tuple(kind.word for kind in servers.KINDS if not kind.seen_as)


@dataclass(frozen=True, kw_only=True)
class _Known:
    """What is known of an owner or a waiter; ``None``: nothing, as of a Java program."""

    #: The connection of its client.
    client: OwnerClient | None = None
    #: What its client is, as it says.
    label: str | None = None
    #: What the hold is for.
    purpose: str | None = None
    #: When the hold began, of a waiter the wait, in seconds since 1970 by the server's clock.
    since: float | None = None
    #: Without ``since``: the hold began less than that many seconds ago, if its program is at work.
    within: float | None = None
    #: The host of its program, also of a dead one while its client's key lives.
    host: str | None = None
    #: The process there.
    pid: int | None = None
    #: How many seconds ago its client renewed last, where its key has its lease.
    renewed: float | None = None
    #: Whether its client has a connection: ``connected``, ``not connected`` or ``unknown``.
    connection: str = "unknown"

    def _about(self) -> dict[str, Any]:
        words = ("label", "purpose", "host", "pid", "since", "within", "renewed", "connection")
        client = self.client.to_json() if self.client else None
        return {"client": client, **{word: getattr(self, word) for word in words}}


@dataclass(frozen=True)
class Owner(_Known):
    """An owner of a lock."""

    #: ``<client id>:<number>``, or the id of a permit.
    id: str
    #: The hold count.
    holds: int
    #: ``read`` or ``write``; ``None`` for other locks.
    mode: str | None = None
    #: Of one of N slots: its value, or its number.
    slot: str | None = field(default=None, kw_only=True)

    def to_json(self) -> dict[str, Any]:
        """The object as the command line prints it."""
        shown = {"id": self.id, "holds": self.holds, "mode": self.mode, **self._about()}
        return shown if self.slot is None else shown | {"slot": self.slot}


@dataclass(frozen=True)
class QueuedOwner(_Known):
    """A waiter in the queue of a fair lock."""

    #: ``<client id>:<number>``.
    id: str
    #: Seconds until it counts as dead unless it asks again; ``None`` where the server has none.
    timeout: float | None

    def to_json(self) -> dict[str, Any]:
        """The object as the command line prints it."""
        return {"id": self.id, "timeout": self.timeout, **self._about()}


@dataclass(frozen=True)
class LockInfo:
    """A lock that is held."""

    #: For people: bytes that are not UTF-8, and control characters, are shown as ``\\xNN``.
    name: str
    #: The name, percent-encoded.
    key: str
    #: One of ``KINDS``.
    kind: str
    #: Who holds it; of a permit semaphore the permits in use.
    owners: tuple[Owner, ...]
    #: Seconds until the lock is free if nothing renews it (of a permit semaphore: until the next
    #: permit is); ``None``: it does not expire.
    ttl: float | None
    #: The length of a fair lock's queue, else the subscribers of the channel: a client counts once.
    waiters: int
    #: What is built on it: ``leader``, ``slots``, ``barrier`` or ``once``; empty: nothing known.
    use: str = field(default="", kw_only=True)
    #: Whether owners, or what their clients say, are left out, because there are too many.
    truncated: bool = field(default=False, kw_only=True)

    @property
    def known_as(self) -> str:
        """What people know it as: its use, else its kind."""
        return self.use or self.kind

    @property
    def raw_name(self) -> bytes:
        """The name as the server's bytes, which all functions take."""
        return unquote_to_bytes(self.key)

    def to_json(self) -> dict[str, Any]:
        """The object as the command line prints it."""
        shown: dict[str, Any] = {
            "name": self.name,
            "key": self.key,
            "kind": self.kind,
            "owners": [owner.to_json() for owner in self.owners],
            "ttl": self.ttl,
            "waiters": self.waiters,
        }
        if self.use:
            shown["use"] = self.use
        return shown | {"truncated": True} if self.truncated else shown


@dataclass(frozen=True)
class LockDetail(LockInfo):
    """One lock, semaphore or latch; fields that its kind lacks are ``None``."""

    #: Of a fair lock, the first to be granted first.
    queue: tuple[QueuedOwner, ...] | None = None
    #: Whether the keys, the channels or the caller tell the kind. ``False``: a number that is a
    #: semaphore or a latch; ``kind`` then is ``semaphore``, and ``permits`` the number.
    certain: bool = True
    #: Of semaphores: the permits that are free.
    permits: int | None = None
    #: Of a latch.
    count: int | None = None
    #: Of a fenced lock: the last token that was given.
    token: int | None = None
    #: The keys on the server that belong to it.
    keys: tuple[str, ...] = ()
    #: The channels on which its waiters listen.
    channels: tuple[str, ...] = ()
    #: The latest releases by force, the newest first.
    forced: tuple[ForcedRelease, ...] = ()
    #: Of a leader: what it has announced, as people read it.
    value: str | None = None
    #: Of a barrier: how many have to wait.
    parties: int | None = None
    #: Of a barrier: whether it is broken until a reset.
    broken: bool | None = None
    #: Where the client of an owner is not known: the connections that do not say whose they are,
    #: among which Redisson's are. The server cannot tell which one is the owner's.
    unnamed: tuple[OwnerClient, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The object as the command line prints it, without the fields that the kind lacks."""
        shown = super().to_json()
        if self.queue is not None:
            shown["queue"] = [queued.to_json() for queued in self.queue]
        words = ("permits", "count", "token", "value", "parties", "broken")
        there = ((word, getattr(self, word)) for word in words)
        shown.update((word, value) for word, value in there if value is not None)
        if not self.certain:
            shown["certain"] = False
        if self.unnamed:
            shown["unnamed"] = [client.to_json() for client in self.unnamed]
        if self.forced:
            shown["forced"] = [forced.to_json() for forced in self.forced]
        return shown | {"keys": list(self.keys), "channels": list(self.channels)}
