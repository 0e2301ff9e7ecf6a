"""The kinds of locks: one row each, and every contract test runs over all of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.servers import Server

Name = str | bytes


@dataclass(frozen=True)
class Kind:
    """How one kind of lock is made, and what it is on the server.

    `make(client, name, **options)` constructs it; `channel(key)` is where its releases are
    announced, with `payload`; `holds(server, key)` are its owners on the server and their hold
    counts.
    """

    name: str
    class_name: str
    make: Callable[..., Any]
    channel: Callable[[Name], bytes]
    holds: Callable[[Server, Name], dict[bytes, int]]
    payload: bytes = b"0"
    part_of: str = ""
    """The synchronizer that it is a side of."""
    make_rival: Callable[..., Any] | None = None
    """Of a kind whose owners share: makes what none of them shares it with."""
    foreign: Callable[[str, int], dict[str, str | int]] = lambda owner, count: {owner: count}
    """The hash of a lock that somebody else's client holds."""
    beside: Callable[[Server, Name], set[bytes]] = lambda _server, _name: set()
    """The keys that it has on the server beside the one of its name."""

    @property
    def word(self) -> str:
        """The synchronizer's word."""
        return self.part_of or self.name

    @property
    def shared(self) -> bool:
        """Owners of it do not exclude each other."""
        return self.make_rival is not None

    def __repr__(self) -> str:
        return self.name


def as_bytes(name: Name) -> bytes:
    return name if isinstance(name, bytes) else name.encode()


def _braced(name: Name) -> bytes:
    key = as_bytes(name)
    return key if b"{" in key else b"{" + key + b"}"


def _lock_channel(name: Name) -> bytes:
    return b"redisson_lock__channel:" + _braced(name)


def _hash_holds(server: Server, name: Name) -> dict[bytes, int]:
    return {owner: int(count) for owner, count in server.inspect.hgetall(name).items()}


def _rwlock_channel(name: Name) -> bytes:
    return b"redisson_rwlock:" + _braced(name)


def _rwlock_holds(server: Server, name: Name) -> dict[bytes, int]:
    """Whoever reads or writes."""
    fields = server.inspect.hgetall(name)
    fields.pop(b"mode", None)
    return {owner.removesuffix(b":write"): int(count) for owner, count in fields.items()}


def _timeout_keys(server: Server, name: Name) -> set[bytes]:
    form = re.compile(re.escape(_braced(name)) + rb":[^:]*:\d+:rwlock_timeout:\d+")
    keys = server.keys()
    return {key for key in keys if form.fullmatch(key)}


def _write_lock(client: Any, name: Name, **options: Any) -> Any:
    return client.read_write_lock(name, **options).write


KINDS = (
    Kind(
        name="lock",
        class_name="Lock",
        make=lambda client, name, **options: client.lock(name, **options),
        channel=_lock_channel,
        holds=_hash_holds,
    ),
    Kind(
        name="read_lock",
        part_of="read_write_lock",
        class_name="ReadLock",
        make=lambda client, name, **options: client.read_write_lock(name, **options).read,
        make_rival=_write_lock,
        channel=_rwlock_channel,
        holds=_rwlock_holds,
        foreign=lambda owner, count: {"mode": "read", owner: count},
        beside=_timeout_keys,
    ),
    Kind(
        name="write_lock",
        part_of="read_write_lock",
        class_name="WriteLock",
        make=_write_lock,
        channel=_rwlock_channel,
        holds=_rwlock_holds,
        payload=b"1",
        foreign=lambda owner, count: {"mode": "write", f"{owner}:write": count},
    ),
)
