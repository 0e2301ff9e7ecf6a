"""The steps of the permit semaphore as methods, and what they leave on a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis

from tests.support.servers import Server
from tests.wire.lua.steps import Bytes, Message, evaluated

ONE, TWO, THREE = b"\x00\r\n one 's id \xff\xff", b"the 2nd's id 16B", b"the 3rd's id 16B"
NEVER = 922337203685477
MINUTE = 60_000
MEMORY = 20_000

NAME = b"mySemaphore"
TIMEOUTS = b"{mySemaphore}:timeout"
CHANNEL = b"redisson_sc:{mySemaphore}"


def about(ms: int) -> Any:
    return pytest.approx(ms, abs=2000)


def told(*counts: int) -> list[Message]:
    return [Message("message", CHANNEL, b"%d" % count) for count in counts]


def dump(server: Server) -> dict[bytes, bytes]:
    names = server.keys()
    return {name: server.inspect.dump(name) for name in names}


class PermitSemaphore:
    """Each method runs the step of its name, on one semaphore, and returns the bare reply."""

    name, timeouts, channel = NAME, TIMEOUTS, CHANNEL

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def acquire(
        self, permit: bytes, lease: int = MINUTE, publish: str = "publish", setup: int = -1
    ) -> Any:
        return self._run("acquire", 3, permit, lease, publish, setup)

    def release_many(self, request: str, *permits: bytes, publish: str = "publish") -> Any:
        return self._ask("release_many", 4, request, b"".join(permits), publish)

    def add_permits(self, request: str, permits: int, publish: str = "publish") -> Any:
        return self._ask("add_permits", 3, request, permits, publish)

    def set_permits(self, request: str, permits: int, publish: str = "publish") -> Any:
        return self._ask("set_permits", 4, request, permits, publish)

    def permits(self) -> Any:
        return self._run("permits", 2)

    def acquired_permits(self) -> Any:
        return self._run("acquired_permits", [self.timeouts])

    def lease_left(self, permit: bytes) -> Any:
        return self._run("lease_left", [self.timeouts], permit)

    def release(self, permit: bytes, publish: str = "publish") -> Any:
        return self._run("release", 3, permit, publish)

    def renew(self, permit: bytes, lease: int = MINUTE) -> int:
        """A batch of one: 1 for renewed."""
        return 1 - len(self._run("renew", [self.timeouts], lease, permit))

    def check(self, permit: bytes) -> Any:
        return self._run("check", [self.timeouts], permit)

    def extend(self, permit: bytes, lease: int = MINUTE, publish: str = "publish") -> Any:
        return self._run("extend", [self.timeouts, self.channel], permit, lease, publish)

    def try_set_permits(self, permits: int, publish: str = "publish") -> Any:
        return self._run("try_set_permits", 3, permits, publish)

    def available_permits(self, publish: str = "publish") -> Any:
        return self._run("available_permits", 3, publish)

    def delete(self) -> Any:
        return self._run("delete", 2)

    # ---- what can be seen on the server

    @property
    def now(self) -> int:
        """The server's clock, in ms."""
        seconds, micros = self._connection.time()
        return int(seconds * 1000 + micros // 1000)

    @property
    def free(self) -> int | None:
        """The counter; None when there is none."""
        value = self._connection.get(self.name)
        return None if value is None else int(value)

    @property
    def out(self) -> dict[bytes, float]:
        """The permits that are out, and the ms that each has left."""
        now = self.now
        scores = self._connection.zrange(self.timeouts, 0, -1, withscores=True)
        return {permit: score - now for permit, score in scores}

    def let_expire(self, permit: bytes) -> None:
        """Let the lease of a permit be over."""
        assert self._connection.zadd(self.timeouts, {permit: self.now - 1}, xx=True, ch=True) == 1

    @property
    def requests(self) -> set[bytes]:
        """The places of requests that there are."""
        return set(self._connection.keys(b"redisson_request:*"))

    def _ask(self, step: str, keys: int, request: str, *argv: Bytes | int) -> Any:
        """A step that is a request: a slot's first, `"…"`, or its nth, `"…#n"`."""
        slot, _, number = request.partition("#")
        place = b"redisson_request:{mySemaphore}:" + slot.encode()
        others = [self.timeouts, self.channel][-(keys - 2) :]
        return self._run(step, [self.name, place, *others], MEMORY, number or 1, *argv)

    def _run(self, step: str, keys: int | list[bytes], *argv: Bytes | int) -> Any:
        if isinstance(keys, int):
            keys = [self.name, self.timeouts, self.channel][:keys]
        try:
            return evaluated(self._connection, f"permit_semaphore/{step}", keys, *argv)
        except redis.ResponseError:
            # fakeredis closes the connection after an error reply, a moment later.
            self._connection.connection_pool.disconnect()
            raise


R = "5921d8b5-5d8d-4a2b-800b-a469f20f66c2:1"
"""A slot for requests."""

REQUESTS: dict[str, Callable[[PermitSemaphore], Any]] = {
    "release_many": lambda semaphore: semaphore.release_many(R, ONE, TWO),
    "add_permits": lambda semaphore: semaphore.add_permits(R, 2),
    "set_permits": lambda semaphore: semaphore.set_permits(R, 7),
}
QUESTIONS: dict[str, Callable[[PermitSemaphore], Any]] = {
    "permits": lambda semaphore: semaphore.permits(),
    "acquired_permits": lambda semaphore: semaphore.acquired_permits(),
    "lease_left": lambda semaphore: semaphore.lease_left(ONE),
}
