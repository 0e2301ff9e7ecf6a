"""The kinds of locks: one row each, and every contract test runs over all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.servers import Server

Name = str | bytes


@dataclass(frozen=True)
class Kind:
    """How one kind of lock is made, and what it is on the server.

    `make(client, name, **options)` constructs it; `channel(key)` is where its releases are
    announced; `holds(server, key)` are its owners on the server and their hold counts. Where it
    does not listen (`listens`), waiters ask again and again. Keys that begin with `stays` are left
    behind on purpose. `differs`: the tests whose promise is another one for this kind, and why.

    `line(server, key)` is how many stand in line on the server, where it keeps one: then each
    waiter has a channel of its own, `channel(key)` with ":" and the owner behind it.
    """

    name: str
    class_name: str
    make: Callable[..., Any]
    channel: Callable[[Name], bytes]
    holds: Callable[[Server, Name], dict[bytes, int]]
    listens: bool = True
    stays: tuple[bytes, ...] = ()
    differs: dict[str, str] = field(default_factory=dict, hash=False)
    line: Callable[[Server, Name], int] | None = None
    commands_per_acquisition: Callable[[int], int] = lambda clients: 2 + clients
    """At most, with many waiters of so many clients."""

    def subscriptions(self, clients: int, waiters: int) -> int:
        """How many there are while so many waiters of so many clients wait for one name."""
        if not self.listens:
            return 0
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
ASKS_AGAIN = "its waiters ask again and again: how often is in test_spin_lock.py"

KINDS = (
    Kind(
        name="lock",
        class_name="Lock",
        make=lambda client, name, **options: client.lock(name, **options),
        channel=_lock_channel,
        holds=_hash_holds,
    ),
    Kind(
        name="fenced_lock",
        class_name="FencedLock",
        make=lambda client, name, **options: client.fenced_lock(name, **options),
        channel=_lock_channel,
        holds=_hash_holds,
        stays=(b"redisson_lock_token:",),
    ),
    Kind(
        name="spin_lock",
        class_name="SpinLock",
        make=lambda client, name, **options: client.spin_lock(name, **options),
        channel=_lock_channel,
        holds=_hash_holds,
        listens=False,
        differs={
            "test_a_client_has_one_subscription_for_all_its_waiters": "it makes none",
            "test_nothing_is_sent_while_nothing_changes": ASKS_AGAIN,
            "test_commands_per_acquisition_do_not_grow_with_the_waiters": ASKS_AGAIN,
            "test_one_message_makes_one_waiter_try": "it hears no message",
        },
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
