"""The steps of the lock as methods, and what they leave on a server."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
import redis

from tests.support.servers import Server
from tests.support.shapes import allows
from tests.support.waiting import BOUND

ROOT = Path(__file__).resolve().parents[3]

Bytes = str | bytes

ALICE = b"5921d8b5-5d8d-4a2b-800b-a469f20f66c2:1"
BOB = b"5921d8b5-5d8d-4a2b-800b-a469f20f66c2:2"
CAROL = b"c0ffee00-0000-4000-8000-00000000000a:1"
KEEPER = b"5921d8b5-5d8d-4a2b-800b-a469f20f66c2:0"

SECOND, MINUTE = 1000, 60_000

NAME = b"myStep"
CHANNEL = b"redisson_lock__channel:{myStep}"
COUNTER = b"redisson_lock_token:{myStep}"


@cache
def embedded() -> dict[str, str]:
    """The steps as the build puts them into the engine: name -> text."""
    return {name: script["text"] for name, script in scripts().items()}


@cache
def scripts() -> dict[str, Any]:
    """What the build's tool says of each script, by name."""
    command = [sys.executable, str(ROOT / "cmake/embed_lua.py"), str(ROOT / "lua"), "--json"]
    table: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True).stdout
    )
    return table


def evaluated(
    connection: redis.Redis, name: str, keys: Sequence[object], *argv: Bytes | int
) -> Any:
    """The reply to a step, one of those that its header names."""
    reply = connection.eval(embedded()[name], len(keys), *keys, *argv)
    assert allows(scripts()[name]["results"], reply), f"{name} replied {reply}"
    return reply


def about(milliseconds: float) -> object:
    """A time that was set a moment ago."""
    return pytest.approx(milliseconds - 2 * SECOND, abs=2 * SECOND)


class Lock:
    """Each method runs the step of its name, on one lock, and returns the bare reply."""

    def __init__(
        self, connection: redis.Redis, name: Bytes = NAME, channel: Bytes = CHANNEL
    ) -> None:
        self._connection = connection
        self.name = name
        self.channel = channel

    def acquire(self, owner: Bytes, lease: int | str = 30_000, count: int = 1) -> Any:
        return self._run("acquire", [self.name], owner, lease, count)

    def release(self, owner: Bytes, count: int = 0, publish: str = "publish") -> Any:
        """1 for freed; `told` then says how many subscribers heard of it."""
        reply = self._run("release", [self.name, self.channel], owner, count, publish)
        self.told = reply - 1 if reply else None
        return min(reply, 1) if reply else reply

    def transfer(self, owner: Bytes, to: Bytes, lease: int = 30_000) -> Any:
        return self._run("transfer", [self.name, self.channel], owner, to, lease, "publish")

    def move(self, owner: Bytes, to: Bytes, lease: int = 30_000) -> Any:
        return self._run("move", [self.name, self.channel], owner, to, lease, "publish")

    def release_either(self, owner: Bytes, other: Bytes) -> Any:
        """1 for freed."""
        keys = [self.name, self.channel]
        reply = self._run("release_either", keys, owner, other, "publish")
        return min(reply, 1) if reply else reply

    def retain(self, owner: Bytes, other: Bytes, keeper: Bytes, time: int) -> Any:
        """1 for closed."""
        keys = [self.name, self.channel]
        reply = self._run("retain", keys, owner, other, keeper, time, "publish")
        return min(reply, 1) if reply else reply

    def renew(self, owner: Bytes, lease: int = 30_000) -> int:
        """A batch of one: 1 for renewed."""
        return 1 - len(self._run("renew", [self.name], lease, owner))

    def check(self, owner: Bytes) -> Any:
        return self._run("check", [self.name], owner)

    def extend(self, owner: Bytes, lease: int = 30_000) -> Any:
        return self._run("extend", [self.name, self.channel], owner, lease, "publish")

    def force_release(self, publish: str = "publish") -> Any:
        return self._run("force_release", [self.name, self.channel], publish)

    def ttl(self) -> Any:
        return self._run("ttl", [self.name])

    @property
    def holds(self) -> dict[bytes, bytes]:
        """The hash as it is on the server; empty when the lock is free."""
        return cast("dict[bytes, bytes]", self._connection.hgetall(self.name))

    @property
    def left(self) -> int:
        """The key's PTTL, asked for without the step."""
        return int(self._connection.pttl(self.name))

    def _run(self, step: str, keys: list[Bytes], *argv: Bytes | int, kind: str = "lock") -> Any:
        try:
            return evaluated(self._connection, f"{kind}/{step}", keys, *argv)
        except redis.ResponseError:
            # fakeredis closes the connection after an error reply, a moment later.
            self._connection.connection_pool.disconnect()
            raise


class FencedLock(Lock):
    """The same of a fenced lock: replies as those of a lock, and the `token` of the last grant."""

    token: int | None = None

    def __init__(
        self,
        connection: redis.Redis,
        name: Bytes = NAME,
        channel: Bytes = CHANNEL,
        counter: Bytes = COUNTER,
    ) -> None:
        super().__init__(connection, name, channel)
        self.counter = counter

    def acquire(self, owner: Bytes, lease: int | str = 30_000, count: int = 1) -> Any:
        keys = [self.name, self.counter]
        return self._granted("acquire", keys, owner, lease, count, done=None)

    def transfer(self, owner: Bytes, to: Bytes, lease: int = 30_000) -> Any:
        keys = [self.name, self.channel, self.counter]
        return self._granted("transfer", keys, owner, to, lease, "publish", done=1)

    def _granted(self, step: str, keys: list[Bytes], *argv: Bytes | int, done: int | None) -> Any:
        reply = self._run(step, keys, *argv, kind="fenced_lock")
        if not isinstance(reply, bytes):
            return reply
        self.token = int(reply)
        return done


STEPS: dict[str, Callable[[Lock], Any]] = {
    "acquire": lambda lock: lock.acquire(ALICE, MINUTE),
    "acquire a second hold": lambda lock: lock.acquire(ALICE, 5 * MINUTE, count=2),
    "acquire for a shorter lease": lambda lock: lock.acquire(ALICE, MINUTE // 6, count=2),
    "release the last hold": lambda lock: lock.release(ALICE),
    "release one of two holds": lambda lock: lock.release(ALICE, count=1),
    "transfer": lambda lock: lock.transfer(ALICE, BOB, MINUTE),
    "move": lambda lock: lock.move(ALICE, BOB, MINUTE),
    "release under either owner": lambda lock: lock.release_either(ALICE, BOB),
    "retain": lambda lock: lock.retain(ALICE, ALICE, KEEPER, MINUTE),
    "renew": lambda lock: lock.renew(ALICE, MINUTE),
    "check": lambda lock: lock.check(ALICE),
    "extend": lambda lock: lock.extend(ALICE, MINUTE),
    "force release": lambda lock: lock.force_release(),
    "ttl": lambda lock: lock.ttl(),
}
"""Every step by its arguments; its effect depends on the owner of the lock."""


class Message(NamedTuple):
    """`kind` is `message` after PUBLISH, `smessage` after SPUBLISH, `pmessage` by a pattern."""

    kind: str
    channel: bytes
    payload: bytes


class Listener:
    """Collects what is published on a channel, sharded or not, or on those of a pattern.

    `with Listener(…) as listener:`, or `close` it: then the server counts it no more, whatever
    became of the test.
    """

    def __init__(self, server: Server, channel: Bytes = CHANNEL, pattern: Bytes = b"") -> None:
        self._server = server
        self._marks = itertools.count()
        self._connection = server.connect()
        self._pubsub: Any = self._connection.pubsub()
        self._pubsub.subscribe("mark")
        if pattern:
            self._pubsub.psubscribe(pattern)
        else:
            self._pubsub.subscribe(channel)
            self._pubsub.ssubscribe(channel)
        for _ in range(2 if pattern else 3):
            assert self._next()["type"] in {"subscribe", "ssubscribe", "psubscribe"}

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def messages(self) -> list[Message]:
        """What was published since the last call, in order."""
        mark = b"%d" % next(self._marks)
        self._server.inspect.publish("mark", mark)
        heard = []
        while (raw := self._next())["channel"] != b"mark":
            heard.append(Message(raw["type"], raw["channel"], raw["data"]))
        assert raw["data"] == mark
        return heard

    def close(self) -> None:
        for end in (self._pubsub.unsubscribe, self._pubsub.punsubscribe, self._pubsub.sunsubscribe):
            end()
        # The end of a connection is noticed in the server's own time, what it says on it is known.
        while self._pubsub.subscribed:
            self._next()
        self._pubsub.close()
        self._connection.close()

    def _next(self) -> Any:
        message = self._pubsub.get_message(timeout=BOUND)
        assert message is not None, "nothing comes from the server"
        return message
