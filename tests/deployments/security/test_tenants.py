"""Tenants of one server: the rights of docs/wire-protocol.md, each for its prefix, keep them apart.

Each tenant has a lock of every kind, held and waited for; the other one tries every command that
its rights have on each key and channel of them, and every step of the library.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import product
from typing import Any

import pytest
import redis
from redis.exceptions import NoPermissionError, ResponseError, TimeoutError

import holdfast
from holdfast import servers
from tests.deployments.security.test_rights import KINDS, SECRET, for_names_with_braces, rights_of
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, settled

pytestmark = pytest.mark.servers("real")

TENANTS = ("app:", "shop:")
NAMES = ("{0}", "{{{0}}}")
"""Of a thing of a tenant: plain, and with a hash tag."""

FIELD = "00000000-0000-8000-8000-000000000000:1"
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "hset": (FIELD, "1"),
    "hexists": (FIELD,),
    "hget": (FIELD,),
    "hdel": (FIELD,),
    "pexpire": ("1",),
    "set": ("0",),
    "incrby": ("1",),
    "decrby": ("1",),
    "rpush": (FIELD,),
    "lindex": ("0",),
    "lrange": ("0", "-1"),
    "lrem": ("0", FIELD),
    "zadd": ("1", FIELD),
    "zcount": ("0", "1"),
    "zrange": ("0", "-1"),
    "zscore": (FIELD,),
    "zrem": (FIELD,),
    "zremrangebyscore": ("-inf", "+inf"),
}
SCRIPT = "return redis.call('del', KEYS[1])"
KEYLESS = {"time", "eval", "evalsha", "publish", "subscribe", "unsubscribe"}


def rights(prefix: str) -> list[str]:
    """Of a tenant that uses every kind, and names with and without braces."""
    rows = [word for kind in KINDS for word in rights_of(kind.title)]
    words = [*rows, *(more for word in rows for more in for_names_with_braces(word))]
    return [word.replace("app:", prefix) for word in dict.fromkeys(words)]


def user(prefix: str) -> str:
    return prefix.removesuffix(":")


@pytest.fixture
def tenants(private_server: Server) -> Server:
    """A server with both users."""
    for prefix in TENANTS:
        words = ["reset", "on", f">{SECRET}", "resetchannels", "-@all", *rights(prefix)]
        private_server.inspect.execute_command("ACL", "SETUSER", user(prefix), *words)
    return private_server


def url_of(server: Server, prefix: str) -> str:
    return server.url.replace("redis://", f"redis://{user(prefix)}:{SECRET}@")


Use = Callable[[], object]


class Tenant:
    """A tenant's clients, and what it holds; everything works with its own rights."""

    def __init__(self, server: Server, prefix: str, ends: ExitStack) -> None:
        self._server = server
        self._clients = [
            ends.enter_context(holdfast.Client(url_of(server, prefix))) for _ in range(2)
        ]
        self._ends: list[Use] = []
        self.names = [prefix + name.format("thing") for name in NAMES]
        for name in self.names:
            self._take(name)

    def _take(self, name: str) -> None:
        client, other = self._clients
        locks = [client.lock(f"{name}:lock"), client.fenced_lock(f"{name}:fenced")]
        locks.append(client.read_write_lock(f"{name}:rw").read)
        for lock in locks:
            lock.acquire()
            self._ends.append(lock.release)
        semaphore = client.semaphore(f"{name}:semaphore")
        assert semaphore.try_set_permits(2)
        assert semaphore.acquire()
        permits = client.permit_semaphore(f"{name}:permits")
        assert permits.try_set_permits(2)
        permit = permits.acquire()
        assert permit is not None
        latch = client.count_down_latch(f"{name}:latch")
        assert latch.try_set_count(1)
        self._ends += [semaphore.release, lambda: permits.release(permit), latch.count_down]
        self._queue(client.fair_lock(f"{name}:fair"), other.fair_lock(f"{name}:fair"))

    def _queue(self, mine: holdfast.FairLock, theirs: holdfast.FairLock) -> None:
        mine.acquire()
        waiting = threading.Thread(target=lambda: (theirs.acquire(timeout=BOUND), theirs.release()))
        waiting.start()
        queue = servers.key_beside("fair_queue", str(mine.name).encode())
        eventually(lambda: self._server.inspect.llen(queue) == 1)
        self._ends += [mine.release, waiting.join]

    def leave(self) -> None:
        """Use everything once more."""
        for end in self._ends:
            end()


def channels(server: Server, name: str) -> set[bytes]:
    kinds = [kind.channel_of for kind in servers.KINDS]
    suffixes = (":lock", ":fenced", ":rw", ":semaphore", ":permits", ":latch", ":fair")
    every = {of(f"{name}{suffix}".encode()) for of, suffix in product(kinds, suffixes)}
    return every | {one for one in server.subscribed_channels() if name.encode() in one}


def tries(commands: set[str], keys: set[bytes], heard: set[bytes]) -> Iterator[tuple[Any, ...]]:
    """Every command on each key and channel."""
    for command, key in product(sorted(commands - KEYLESS), sorted(keys)):
        yield (command, key, *ARGUMENTS.get(command, ()))
    for key in sorted(keys | heard):
        yield ("eval", SCRIPT, 1, key)
    for channel in sorted(heard):
        yield ("publish", channel, "0")
    for channel in sorted(heard):  # last: afterwards the connection takes nothing else
        yield ("subscribe", channel)


def steps(client: holdfast.Client, name: str) -> Iterator[Use]:
    """Every step of the library that could reach the other tenant."""
    read_write = client.read_write_lock(f"{name}:rw")
    locks: list[Any] = [
        client.lock(f"{name}:lock"),
        client.fenced_lock(f"{name}:fenced"),
        client.fair_lock(f"{name}:fair"),
        client.spin_lock(f"{name}:lock"),
        read_write.read,
        read_write.write,
    ]
    for lock in locks:
        yield lambda lock=lock: lock.acquire(blocking=False)
        yield lock.force_release
        yield lock.locked
    semaphore = client.semaphore(f"{name}:semaphore")
    yield lambda: semaphore.acquire(blocking=False)
    yield from (semaphore.release, semaphore.release_if_exists)
    yield from (semaphore.drain_permits, semaphore.delete)
    permits = client.permit_semaphore(f"{name}:permits")
    yield lambda: permits.acquire(blocking=False)
    yield lambda: permits.release_many(["0" * 32])
    yield from (lambda: permits.set_permits(1), lambda: permits.add_permits(1))
    yield from (permits.permits, permits.acquired_permits, lambda: permits.lease_left("0" * 32))
    yield from (permits.available_permits, permits.delete)
    latch = client.count_down_latch(f"{name}:latch")
    yield from (latch.count_down, latch.count, latch.delete)


def reached_by(url: str, words: Iterator[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The commands that the server does not refuse for lack of a right."""
    reached: list[tuple[Any, ...]] = []
    with redis.Redis.from_url(url) as raw:
        connection = raw.connection_pool.get_connection()
        for command in words:
            connection.send_command(*command)
            try:
                connection.read_response()
            except NoPermissionError:
                continue
            except (ResponseError, TimeoutError):  # it was looked at, or listens
                pass
            reached.append(command)
    return reached


@pytest.mark.parametrize(("attacker", "victim"), [TENANTS, TENANTS[::-1]], ids=["app", "shop"])
def test_no_tenant_reaches_what_belongs_to_another(
    tenants: Server, attacker: str, victim: str
) -> None:
    commands = {word[1:] for word in rights(attacker) if word.startswith("+")}
    assert set(ARGUMENTS) <= commands
    url = url_of(tenants, attacker)
    with ExitStack() as ends:
        held = Tenant(tenants, victim, ends)
        keys = tenants.keys()
        # A waiter for the fair lock tries again once it is subscribed, which renews its place.
        before = settled(lambda: {key: tenants.inspect.dump(key) for key in keys})
        heard = set[bytes]().union(*(channels(tenants, name) for name in held.names))
        assert reached_by(url, tries(commands, keys, heard)) == []
        client = ends.enter_context(holdfast.Client(url))
        for step in (step for name in held.names for step in steps(client, name)):
            with pytest.raises(holdfast.ServerError) as info:
                step()
            assert info.value.code == "NOPERM"
        assert {key: tenants.inspect.dump(key) for key in keys} == before
        held.leave()
