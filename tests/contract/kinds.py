"""The kinds of locks: one row each, and every contract test runs over all of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import holdfast
import holdfast.asyncio

if TYPE_CHECKING:  # children import this module: without it they start in half the time
    from tests.support.servers import Server

Name = str | bytes


@dataclass(frozen=True)
class Kind:
    """How one kind of lock is made, and what it is on the server.

    `make(client, name, **options)` constructs it; `channel(key)` is where its releases are
    announced, with `payload`; `holds(server, key)` are its owners on the server and their hold
    counts. Where it does not listen (`listens`), waiters ask again and again. Keys that begin with
    `stays` are left behind on purpose. `differs`: the tests whose promise is another one for this
    kind, and why.

    `line(server, key)` is how many stand in line on the server, where it keeps one: then each
    waiter has a separate channel, `channel(key)` with ":" and the owner behind it.
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
    """The most commands for one acquisition, by the number of clients that have waiters."""
    payload: bytes = b"0"
    part_of: str = ""
    """The synchronizer that it is a side of."""
    make_rival: Callable[..., Any] | None = None
    """Of a kind whose owners share: makes what none of them shares it with."""
    foreign: Callable[[str, int], dict[str, str | int]] = lambda owner, count: {owner: count}
    """The hash of a lock that somebody else's client holds."""
    beside: Callable[[Server, Name], set[bytes]] = lambda _server, _name: set()
    """The keys that it has on the server beside the one of its name."""
    suffixes: tuple[bytes, ...] = (b"",)
    """Of its keys, one for each lock it is made of; the first is at `channel` and in `holds`."""
    hurried: bool = False
    """It gives its servers a few milliseconds: fakeredis needs more, so it is not tried there."""
    one_flavour_is_enough: bool = True
    """A quick run tries each test for all kinds by sync or by asyncio, not by both."""
    polls: bool = False
    """A waiter also looks again by the clock: its locks are on servers that may die."""

    def subscriptions(self, clients: int, waiters: int) -> int:
        """How many there are while `waiters` waiters of `clients` clients wait for a name."""
        if not self.listens:
            return 0
        return waiters if self.line else clients

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


def _braced(name: Name) -> bytes:
    key = as_bytes(name)
    return key if b"{" in key else b"{" + key + b"}"


def prefixed(prefix: bytes, name: Name) -> bytes:
    """A key or channel that is derived from a name."""
    return prefix + b":" + _braced(name)


def _lock_channel(name: Name) -> bytes:
    return prefixed(b"redisson_lock__channel", name)


def _fair_line(server: Server, name: Name) -> int:
    return int(server.inspect.llen(prefixed(b"redisson_lock_queue", name)))


def _hash_holds(server: Server, name: Name) -> dict[bytes, int]:
    return {owner: int(count) for owner, count in server.inspect.hgetall(name).items()}


def semaphore_channel(name: Name) -> bytes:
    """Where those listen who wait for permits, of either semaphore."""
    return prefixed(b"redisson_sc", name)


def latch_channel(name: Name) -> bytes:
    """Where those listen who wait for a latch."""
    return b"redisson_countdownlatch__channel__{" + as_bytes(name) + b"}"


@dataclass(frozen=True)
class Synchronizer:
    """How something that is waited for and has no owner is made, and what it is on the server.

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
        channel=semaphore_channel,
    ),
    Synchronizer(
        name="permit_semaphore",
        class_name="PermitSemaphore",
        make=lambda client, name: client.permit_semaphore(name),
        begin=lambda semaphore: semaphore.try_set_permits(1),
        channel=semaphore_channel,
    ),
    Synchronizer(
        name="count_down_latch",
        class_name="CountDownLatch",
        make=lambda client, name: client.count_down_latch(name),
        begin=lambda latch: latch.try_set_count(1),
        channel=latch_channel,
    ),
)
ONE_LINE = "the two names also have one line"
BY_THE_CLOCK = "its waiters also look again by the clock"
ASKS_AGAIN = "its waiters ask again and again: how often is in test_spin_lock.py"


def _rwlock_channel(name: Name) -> bytes:
    return prefixed(b"redisson_rwlock", name)


def _rwlock_holds(server: Server, name: Name) -> dict[bytes, int]:
    """A reader or a writer."""
    fields = server.inspect.hgetall(name)
    fields.pop(b"mode", None)
    return {owner.removesuffix(b":write"): int(count) for owner, count in fields.items()}


def _timeout_keys(server: Server, name: Name) -> set[bytes]:
    form = re.compile(re.escape(_braced(name)) + rb":[^:]*:\d+:rwlock_timeout:\d+")
    keys = server.keys()
    return {key for key in keys if form.fullmatch(key)}


def _write_lock(client: Any, name: Name, **options: Any) -> Any:
    return client.read_write_lock(name, **options).write


def _parts(client: Any, name: Name, suffixes: tuple[bytes, ...]) -> list[Any]:
    first = client.lock(name)  # which checks the name
    return [first, *(client.lock(as_bytes(name) + suffix) for suffix in suffixes[1:])]


_TWO = (b"", b" 2")
_THREE = (b"", b" 2", b" 3")


def _multi_lock(client: Any, name: Name, **options: Any) -> Any:
    return client.multi_lock(*_parts(client, name, _TWO), **options)


def _red_lock(client: Any, name: Name, **options: Any) -> Any:
    module = holdfast.asyncio if client._asynchronous else holdfast
    return module.RedLock(*_parts(client, name, _THREE), **options)


KINDS = (
    Kind(
        name="lock",
        one_flavour_is_enough=False,
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
        differs={
            "test_a_release_wakes_no_waiter_of_another_name": ONE_LINE,
            "test_a_free_lock_is_granted_at_once_beside_another_name": ONE_LINE,
            "test_who_waits_for_either_name_gets_it": ONE_LINE,
        },
        # Each waiter sends commands: for a place in the queue, after the message that it is its
        # turn, and once in between, when its subscription is confirmed.
        commands_per_acquisition=lambda clients: 6,
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
    Kind(
        name="multi_lock",
        class_name="MultiLock",
        make=_multi_lock,
        channel=_lock_channel,
        holds=_hash_holds,
        suffixes=_TWO,
        # The message of each member may make a waiter try, where they come one by one.
        commands_per_acquisition=lambda clients: 4 + clients,
    ),
    Kind(
        name="red_lock",
        hurried=True,
        class_name="RedLock",
        make=_red_lock,
        channel=_lock_channel,
        holds=_hash_holds,
        suffixes=_THREE,
        polls=True,
        differs={
            "test_nothing_is_sent_while_nothing_changes": BY_THE_CLOCK,
            "test_one_message_makes_one_waiter_try": BY_THE_CLOCK,
        },
        commands_per_acquisition=lambda clients: 2 * (2 + clients),
    ),
)
