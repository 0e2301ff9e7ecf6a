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
    """

    name: str
    class_name: str
    make: Callable[..., Any]
    channel: Callable[[Name], bytes]
    holds: Callable[[Server, Name], dict[bytes, int]]

    def __repr__(self) -> str:
        return self.name


def as_bytes(name: Name) -> bytes:
    return name if isinstance(name, bytes) else name.encode()


def _lock_channel(name: Name) -> bytes:
    key = as_bytes(name)
    return b"redisson_lock__channel:" + (key if b"{" in key else b"{" + key + b"}")


def _hash_holds(server: Server, name: Name) -> dict[bytes, int]:
    return {owner: int(count) for owner, count in server.inspect.hgetall(name).items()}


def _semaphore_channel(name: Name) -> bytes:
    key = as_bytes(name)
    return b"redisson_sc:" + (key if b"{" in key else b"{" + key + b"}")


def _latch_channel(name: Name) -> bytes:
    return b"redisson_countdownlatch__channel__{" + as_bytes(name) + b"}"


@dataclass(frozen=True)
class Synchronizer:
    """How something that is waited for and that nobody owns is made, and what it is on the server.

    `make(client, name)` constructs it; `begin(it)` brings it into being and is announced on
    `channel(key)`.
    """

    name: str
    class_name: str
    make: Callable[..., Any]
    begin: Callable[[Any], Any]
    channel: Callable[[Name], bytes]

    def __repr__(self) -> str:
        return self.name


SYNCHRONIZERS = (
    Synchronizer(
        name="semaphore",
        class_name="Semaphore",
        make=lambda client, name: client.semaphore(name),
        begin=lambda semaphore: semaphore.try_set_permits(1),
        channel=_semaphore_channel,
    ),
    Synchronizer(
        name="count_down_latch",
        class_name="CountDownLatch",
        make=lambda client, name: client.count_down_latch(name),
        begin=lambda latch: latch.try_set_count(1),
        channel=_latch_channel,
    ),
)

KINDS = (
    Kind(
        name="lock",
        class_name="Lock",
        make=lambda client, name, **options: client.lock(name, **options),
        channel=_lock_channel,
        holds=_hash_holds,
    ),
)
