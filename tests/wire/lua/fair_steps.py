"""The steps of the fair lock as methods, and what they leave on a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import redis

from tests.support.servers import Server
from tests.wire.lua.steps import MINUTE, Bytes, Listener, Lock, Message, evaluated

NAME = b"myStep"
QUEUE = b"redisson_lock_queue:{myStep}"
TIMEOUTS = b"redisson_lock_timeout:{myStep}"
CHANNEL = b"redisson_lock__channel:{myStep}"

# Our waiters: their numbers lie from 2^40 up to 2^52, whatever the client's UUID is.
ALICE = b"5921d8b5-5d8d-8a2b-800b-a469f20f66c2:1099511627776"
BOB = b"5921d8b5-5d8d-8a2b-800b-a469f20f66c2:1099511627777"
CAROL = b"c0ffee00-0000-4000-8000-00000000000a:4503599627370494"
DAVE = b"c0ffee00-0000-4000-8000-00000000000a:4503599627370495"
# Redisson's are the ids of Java's threads.
JAVA = b"0b4e2c1a-7f3d-4c5e-9a86-d1f2b3c4a5e6:37"
REDISSONS_QUEUE_TIMEOUT = 300_000

PATIENCE = 30_000
THIRD = PATIENCE // 3


class FairLock(Lock):
    """Each method runs the step of its name, on one lock, and returns the bare reply."""

    def __init__(self, connection: redis.Redis) -> None:
        super().__init__(connection, NAME, CHANNEL)
        self._all = [NAME, QUEUE, TIMEOUTS, CHANNEL]

    def acquire(
        self, owner: Bytes, lease: int | str = 30_000, count: int = 1, queue_timeout: int = PATIENCE
    ) -> Any:
        return self._step("acquire", self._all[:3], owner, lease, count, queue_timeout)

    def attempt(self, owner: Bytes, lease: int = 30_000) -> Any:
        """An acquire that does not wait."""
        return self.acquire(owner, lease, queue_timeout=0)

    def release(self, owner: Bytes, count: int = 0, publish: str = "publish") -> Any:
        """1 for freed; `told` then says how many subscribers heard of it."""
        reply = self._step("release", self._all, owner, count, publish)
        self.told = reply - 1 if reply else None
        return min(reply, 1) if reply else reply

    def move(self, owner: Bytes, to: Bytes, lease: int = 30_000) -> Any:
        return self._step("move", self._all, owner, to, lease, "publish")

    def release_either(self, owner: Bytes, other: Bytes) -> Any:
        """1 for freed."""
        reply = self._step("release_either", self._all, owner, other, "publish")
        return min(reply, 1) if reply else reply

    def extend(self, owner: Bytes, lease: int = 30_000, publish: str = "publish") -> Any:
        return self._step("extend", self._all, owner, lease, publish)

    def force_release(self, publish: str = "publish") -> Any:
        return self._step("force_release", self._all, publish)

    # ---- the line

    @property
    def line(self) -> list[bytes]:
        """Those who wait, in order; each of them has a time."""
        there: Any = self._connection.lrange(QUEUE, 0, -1)
        assert set(self._connection.zrange(TIMEOUTS, 0, -1)) == set(there)
        return list(there)

    def alive(self, owner: bytes) -> float:
        """How many ms the place of an owner lasts from now on."""
        score: Any = self._connection.zscore(TIMEOUTS, owner)
        assert score is not None, "it has no place"
        return float(score) - self.clock()

    def clock(self) -> float:
        """The server's clock in ms."""
        seconds, micros = self._time()
        return float(seconds * 1000 + micros / 1000)

    def _time(self) -> Any:
        return self._connection.time()

    def let_age(self, owner: bytes, by: int) -> None:
        """Move the owner's last sign of life `by` ms into the past."""
        self._connection.zincrby(TIMEOUTS, -by, owner)

    def stand(self, owner: bytes, alive: int) -> None:
        """Put an owner at the end of the line by hand, as another program would."""
        self._connection.rpush(QUEUE, owner)
        self._connection.zadd(TIMEOUTS, {owner: int(self.clock()) + alive})

    def _step(self, step: str, keys: list[bytes], *argv: Bytes | int) -> Any:
        try:
            return evaluated(self._connection, f"fair_lock/{step}", keys, *argv)
        except redis.ResponseError:
            # fakeredis closes the connection after an error reply, a moment later.
            self._connection.connection_pool.disconnect()
            raise


FAIR_STEPS: dict[str, Callable[[FairLock], Any]] = {
    "acquire": lambda lock: lock.acquire(ALICE, MINUTE),
    "try": lambda lock: lock.attempt(ALICE, MINUTE),
    "acquire a second hold": lambda lock: lock.acquire(ALICE, 5 * MINUTE, count=2),
    "release the last hold": lambda lock: lock.release(ALICE),
    "release one of two holds": lambda lock: lock.release(ALICE, count=1),
    "move": lambda lock: lock.move(ALICE, CAROL, MINUTE),
    "move, shorter": lambda lock: lock.move(ALICE, CAROL, MINUTE // 6),
    "release under either owner": lambda lock: lock.release_either(ALICE, CAROL),
    "extend": lambda lock: lock.extend(ALICE, MINUTE),
    "force release": lambda lock: lock.force_release(),
}
"""Every step by its arguments; its effect depends on the owner of the lock and its waiters."""


def listen(server: Server) -> Listener:
    """A subscriber to the channels of all waiters."""
    return Listener(server, pattern=b"redisson_lock__channel:*")


def word_to(owner: bytes) -> list[Message]:
    """The one message that tells an owner that it may be its turn."""
    return [Message("pmessage", CHANNEL + b":" + owner, b"0")]
