"""The kinds of locks: one row each, and every contract test runs over all of them."""

from __future__ import annotations

import sys
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
    """

    name: str
    class_name: str
    make: Callable[..., Any]
    channel: Callable[[Name], bytes]
    holds: Callable[[Server, Name], dict[bytes, int]]
    suffixes: tuple[bytes, ...] = (b"",)
    """Of its keys, one for each lock it is made of; the first is at `channel` and in `holds`."""
    polls: bool = False
    """Whoever waits also looks again by the clock: its locks are on servers that may die."""

    def __repr__(self) -> str:
        return self.name

    def keys(self, name: Name) -> tuple[bytes, ...]:
        """All keys of a lock."""
        return tuple(as_bytes(name) + suffix for suffix in self.suffixes)

    def title(self, name: Name) -> Name:
        """What a lock has as its name: of several keys, all of them."""
        if len(self.suffixes) == 1:
            return name
        return ", ".join(key.decode(errors="backslashreplace") for key in self.keys(name))


def as_bytes(name: Name) -> bytes:
    return name if isinstance(name, bytes) else name.encode()


def _lock_channel(name: Name) -> bytes:
    key = as_bytes(name)
    return b"redisson_lock__channel:" + (key if b"{" in key else b"{" + key + b"}")


def _hash_holds(server: Server, name: Name) -> dict[bytes, int]:
    return {owner: int(count) for owner, count in server.inspect.hgetall(name).items()}


def _parts(client: Any, name: Name, suffixes: tuple[bytes, ...]) -> list[Any]:
    first = client.lock(name)  # which checks the name
    return [first, *(client.lock(as_bytes(name) + suffix) for suffix in suffixes[1:])]


_TWO = (b"", b" 2")
_THREE = (b"", b" 2", b" 3")


def _multi_lock(client: Any, name: Name, **options: Any) -> Any:
    return client.multi_lock(*_parts(client, name, _TWO), **options)


def _red_lock(client: Any, name: Name, **options: Any) -> Any:
    module = sys.modules[type(client).__module__]
    return module.RedLock(*_parts(client, name, _THREE), **options)


KINDS = (
    Kind(
        name="lock",
        class_name="Lock",
        make=lambda client, name, **options: client.lock(name, **options),
        channel=_lock_channel,
        holds=_hash_holds,
    ),
    Kind(
        name="multi_lock",
        class_name="MultiLock",
        make=_multi_lock,
        channel=_lock_channel,
        holds=_hash_holds,
        suffixes=_TWO,
    ),
    Kind(
        name="red_lock",
        class_name="RedLock",
        make=_red_lock,
        channel=_lock_channel,
        holds=_hash_holds,
        suffixes=_THREE,
        polls=True,
    ),
)
