"""What the tests of the read-write lock see of it on the server."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from tests.support.halting import others_sleep
from tests.support.servers import Server
from tests.support.waiting import eventually

NAME = "myLock"
CHANNEL = b"redisson_rwlock:{myLock}"


def mode(server: Server) -> bytes | None:
    return server.inspect.hget(NAME, "mode")


def fields(server: Server) -> int:
    """How many owners there are on the server."""
    return max(0, int(server.inspect.hlen(NAME)) - 1)


def left(server: Server) -> float:
    return float(server.inspect.pttl(NAME)) / 1000


def begin(server: Server, actor: Any, lock: Any, **how: Any) -> Future[Any]:
    """Let an actor wait for a lock; returns once its attempt was refused and it sleeps.

    No writer of its client may wait already: it would not ask.
    """
    before = server.scripts_run()
    waiting: Future[Any] = actor.begin(lock.acquire, **how)

    def has_asked() -> bool:
        return server.subscribers(CHANNEL) > 0 and (
            before is None or server.scripts_run() != before
        )

    eventually(lambda: waiting.done() or has_asked())
    eventually(lambda: server.inspect.ping() and others_sleep())
    assert not waiting.done()
    return waiting
