"""The steps of the read-write lock as methods, and what they leave on a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import redis

from tests.wire.lua.steps import ALICE, BOB, MINUTE, NAME, Bytes, Message, evaluated

CHANNEL = b"redisson_rwlock:{myStep}"
PREFIX = b"{myStep}"
BY_READERS = [Message("message", CHANNEL, b"0")]
BY_WRITER = [Message("message", CHANNEL, b"1")]
READS, WRITES = {b"mode": b"read"}, {b"mode": b"write"}


class ReadWriteLock:
    """Each method runs the step of its name, on one lock, and returns the bare reply."""

    def __init__(
        self,
        connection: redis.Redis,
        name: Bytes = NAME,
        channel: Bytes = CHANNEL,
        prefix: bytes = PREFIX,
    ) -> None:
        self._connection = connection
        self.name = name
        self.channel = channel
        self.prefix = prefix

    def read_acquire(self, owner: Bytes, lease: int | str = 30_000, count: int = 1) -> Any:
        return self._run("read_acquire", [self.name, self.prefix], owner, lease, count)

    def read_release(self, owner: Bytes, count: int = 0, publish: str = "publish") -> Any:
        return self._released("read_release", owner, count, publish)

    def read_holds(self, owner: Bytes) -> Any:
        return self._run("read_holds", [self.name, self.prefix], owner)

    def read_renew(self, owner: Bytes, lease: int = 30_000) -> Any:
        """A batch of one: the ms that were left."""
        keys = [self.name, self.prefix, self.timeout(owner)]
        [left] = self._run("read_renew", keys, lease, owner)
        return left

    def read_check(self, owner: Bytes) -> Any:
        return self._run("read_check", [self.name, self.timeout(owner)], owner)

    def read_extend(self, owner: Bytes, lease: int = 30_000, publish: str = "publish") -> Any:
        return self._run("read_extend", self._all_keys, owner, lease, publish)

    def write_acquire(self, owner: Bytes, lease: int | str = 30_000, count: int = 1) -> Any:
        return self._run("write_acquire", [self.name], owner, lease, count)

    def write_release(self, owner: Bytes, count: int = 0, publish: str = "publish") -> Any:
        return self._released("write_release", owner, count, publish)

    def write_extend(self, owner: Bytes, lease: int = 30_000, publish: str = "publish") -> Any:
        return self._run("write_extend", self._all_keys, owner, lease, publish)

    def write_move(self, owner: Bytes, to: Bytes, lease: int = 30_000) -> Any:
        return self._run("write_move", [self.name, self.channel], owner, to, lease, "publish")

    def write_release_either(self, owner: Bytes, other: Bytes) -> Any:
        """1 for freed."""
        keys = [self.name, self.channel]
        reply = self._run("write_release_either", keys, owner, other, "publish")
        return min(reply, 1) if reply else reply

    def force_release(self, mode: str, publish: str = "publish") -> Any:
        return self._run("force_release", self._all_keys, mode, publish)

    def locked(self, mode: str) -> Any:
        return self._run("locked", [self.name], mode)

    @property
    def holds(self) -> dict[bytes, bytes]:
        """The hash as it is on the server; empty when the lock is free."""
        return cast("dict[bytes, bytes]", self._connection.hgetall(self.name))

    @property
    def left(self) -> int:
        """The key's PTTL."""
        return int(self._connection.pttl(self.name))

    def timeout(self, owner: bytes, n: int = 1) -> bytes:
        """The name of the timeout key of an owner's nth read hold."""
        return b"%b:%b:rwlock_timeout:%d" % (self.prefix, owner, n)

    def read_left(self, owner: bytes, n: int = 1) -> int:
        """The PTTL of that key."""
        return int(self._connection.pttl(self.timeout(owner, n)))

    @property
    def timeouts(self) -> set[bytes]:
        """All timeout keys that there are."""
        keys = cast("list[bytes]", self._connection.keys())
        return {key for key in keys if b":rwlock_timeout:" in key}

    @property
    def _all_keys(self) -> list[Bytes]:
        return [self.name, self.channel, self.prefix]

    def _released(self, step: str, owner: Bytes, count: int, publish: str) -> Any:
        """1 for freed, however many subscribers heard of it."""
        reply = self._run(step, self._all_keys, owner, count, publish)
        return min(reply, 1) if reply else reply

    def _run(self, step: str, keys: list[Bytes], *argv: Bytes | int) -> Any:
        try:
            return evaluated(self._connection, f"read_write_lock/{step}", keys, *argv)
        except redis.ResponseError:
            # fakeredis closes the connection after an error reply, a moment later.
            self._connection.connection_pool.disconnect()
            raise


Run = Callable[[ReadWriteLock], Any]

STEPS: dict[str, Run] = {
    "read": lambda lock: lock.read_acquire(ALICE, MINUTE),
    "read a second time": lambda lock: lock.read_acquire(ALICE, 5 * MINUTE, count=2),
    "read a second time, shorter": lambda lock: lock.read_acquire(ALICE, MINUTE // 6, count=2),
    "read after another": lambda lock: lock.read_acquire(BOB, MINUTE),
    "release the last read hold": lambda lock: lock.read_release(ALICE),
    "release one of two read holds": lambda lock: lock.read_release(ALICE, count=1),
    "ask for the read holds": lambda lock: lock.read_holds(ALICE),
    "renew the read holds": lambda lock: lock.read_renew(ALICE, 5 * MINUTE),
    "extend the read holds": lambda lock: lock.read_extend(ALICE, MINUTE),
    "write": lambda lock: lock.write_acquire(ALICE, MINUTE),
    "write a second time": lambda lock: lock.write_acquire(ALICE, 5 * MINUTE, count=2),
    "release the last write hold": lambda lock: lock.write_release(ALICE),
    "release one of two write holds": lambda lock: lock.write_release(ALICE, count=1),
    "extend the write hold": lambda lock: lock.write_extend(ALICE, MINUTE),
    "move the write hold": lambda lock: lock.write_move(ALICE, BOB, MINUTE),
    "release under either writer": lambda lock: lock.write_release_either(ALICE, BOB),
    "force the readers": lambda lock: lock.force_release("read"),
    "force the writer": lambda lock: lock.force_release("write"),
    "ask if anyone reads": lambda lock: lock.locked("read"),
    "ask if anyone writes": lambda lock: lock.locked("write"),
}
"""Every step by its arguments; its effect depends on the owner of the lock."""

STATES: dict[str, tuple[Run, ...]] = {
    "free": (),
    "read": (lambda lock: lock.read_acquire(ALICE, 2 * MINUTE),),
    "read twice": (
        lambda lock: lock.read_acquire(ALICE, 2 * MINUTE),
        lambda lock: lock.read_acquire(ALICE, 2 * MINUTE, 2),
    ),
    "read by another": (lambda lock: lock.read_acquire(BOB, 2 * MINUTE),),
    "read by both": (
        lambda lock: lock.read_acquire(ALICE, 3 * MINUTE),
        lambda lock: lock.read_acquire(BOB, 2 * MINUTE),
    ),
    "written": (lambda lock: lock.write_acquire(ALICE, 2 * MINUTE),),
    "written twice": (
        lambda lock: lock.write_acquire(ALICE, 2 * MINUTE),
        lambda lock: lock.write_acquire(ALICE, 2 * MINUTE, 2),
    ),
    "written and read": (
        lambda lock: lock.write_acquire(ALICE, 2 * MINUTE),
        lambda lock: lock.read_acquire(ALICE, 2 * MINUTE),
    ),
    "written by another": (lambda lock: lock.write_acquire(BOB, 2 * MINUTE),),
}
"""How to bring a free lock into each state."""
