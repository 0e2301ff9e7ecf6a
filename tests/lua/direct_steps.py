"""The steps of a lock that a release grants to a waiter, and of the fenced one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import redis

from tests.lua.steps import ALICE, BOB, CAROL, CHANNEL, COUNTER, MINUTE, NAME, Bytes, Lock

WAITERS = b"holdfast_waiters:{myLock}"
TOKEN_WAITERS = b"holdfast_token_waiters:{myLock}"
GRANT_LEASE = 2000


def grants(owner: bytes) -> bytes:
    """The channel on which the owner's client is sent its grants."""
    return CHANNEL + b":" + owner.rpartition(b":")[0]


class DirectLock(Lock):
    """The lock's steps; an acquire gets a place in line where it is refused."""

    kind = "direct_lock"
    waiters = WAITERS
    more_keys: tuple[Bytes, ...] = ()

    def __init__(self, connection: redis.Redis, name: Bytes = NAME, channel: Bytes = CHANNEL):
        super().__init__(connection, name, channel)
        self._line = [self.waiters, *self.more_keys]

    def acquire(self, owner: Bytes, lease: int | str = 30_000, count: int = 1) -> Any:
        assert count == 1
        return self._acquire(owner, lease, 1)

    def look(self, owner: Bytes) -> Any:
        """An attempt that wants no place."""
        return self._acquire(owner, 30_000, 0)

    def _acquire(self, owner: Bytes, lease: int | str, waits: int) -> Any:
        return self._run("acquire", [self.name, *self._line], owner, lease, waits, kind=self.kind)

    def release(self, owner: Bytes, count: int = 0, publish: str = "publish") -> Any:
        keys = [self.name, self.channel, *self._line]
        return self._run("release", keys, owner, GRANT_LEASE, publish, kind=self.kind)

    def transfer(self, owner: Bytes, to: Bytes, lease: int = 30_000) -> Any:
        keys = [self.name, self.channel, *self._line]
        return self._run("transfer", keys, owner, to, lease, "publish", kind=self.kind)

    @property
    def line(self) -> list[bytes]:
        """The owners in line, the first one first."""
        return [one for one in self._connection.zrange(self.waiters, 0, -1) if b":" in one]


class DirectFencedLock(DirectLock):
    kind = "direct_fenced_lock"
    waiters = TOKEN_WAITERS
    more_keys = (COUNTER,)


STEPS: dict[str, Callable[[DirectLock], Any]] = {
    "acquire": lambda lock: lock.acquire(ALICE, MINUTE),
    "release": lambda lock: lock.release(ALICE),
    "transfer": lambda lock: lock.transfer(ALICE, BOB, MINUTE),
}
STATES: tuple[tuple[Callable[[DirectLock], Any], ...], ...] = (
    (),
    (lambda lock: lock.acquire(ALICE),),
    (lambda lock: lock.acquire(BOB),),
    (lambda lock: lock.acquire(ALICE), lambda lock: lock.acquire(CAROL)),
)
