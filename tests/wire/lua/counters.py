"""The steps of the semaphore and of the latch as methods: each is one request, by its id."""

from __future__ import annotations

from typing import Any

import redis

from tests.wire.lua.steps import Bytes, embedded, evaluated

CLIENT = "5921d8b5-5d8d-4a2b-800b-a469f20f66c2"
ONE, TWO, THREE, FOUR = (f"{CLIENT}:{number}" for number in range(1, 5))
"""Ids of slots. A request is its slot's first, `"…"`, or its nth, `"…#n"`."""

MOST = 2**31 - 1
MEMORY = 20_000


class Counter:
    """One counter on a server, and how its steps are run."""

    word = ""
    name: Bytes = ""
    channel: Bytes = ""

    def __init__(self, connection: redis.Redis) -> None:
        self._connection = connection
        self._newest: dict[str, int] = {}  # request of each slot

    def request(self, number: str) -> str:
        """The key that keeps the answer to a request."""
        return f"redisson_request:{{{self.name!s}}}:{number.partition('#')[0]}"

    @property
    def value(self) -> int | None:
        """The counter as it is on the server."""
        found: Any = self._connection.get(self.name)
        return None if found is None else int(found)

    def put(self, value: int) -> None:
        """Set the counter, as somebody else would."""
        self._connection.set(self.name, value)

    def _run(self, step: str, request: str, *argv: Bytes | int, told: bool = True) -> Any:
        keys = [self.name, self.request(request), *([self.channel] if told else [])]
        try:
            slot, _, nth = request.partition("#")
            number, name = int(nth or 1), f"{self.word}/{step}"
            newest = self._newest[slot] = max(number, self._newest.get(slot, 0))
            if number < newest:  # a late copy: it gets the answer to its successor
                text = embedded()[name]
                return self._connection.eval(text, len(keys), *keys, MEMORY, number, *argv)
            return evaluated(self._connection, name, keys, MEMORY, number, *argv)
        except redis.ResponseError:
            # fakeredis closes the connection after an error reply, a moment later.
            self._connection.connection_pool.disconnect()
            raise


class Semaphore(Counter):
    """A semaphore; each method runs the step of its name and returns the bare reply."""

    word = "semaphore"
    name = "mySemaphore"
    channel = "redisson_sc:{mySemaphore}"

    def acquire(
        self, request: str, permits: int = 1, setup: int = -1, publish: str = "publish"
    ) -> Any:
        return self._run("acquire", request, permits, setup, publish)

    def read(self) -> Any:
        text = embedded()["semaphore/value"]
        return self._connection.eval(text, 1, self.name)

    def undo(self, request: str, publish: str = "publish") -> Any:
        return self._run("undo", request, publish)

    def add_permits(self, request: str, permits: int, publish: str = "publish") -> Any:
        return self._run("add_permits", request, permits, publish)

    def release_if_exists(self, request: str, permits: int = 1, publish: str = "publish") -> Any:
        return self._run("release_if_exists", request, permits, publish)

    def try_set_permits(self, request: str, permits: int, publish: str = "publish") -> Any:
        return self._run("try_set_permits", request, permits, publish)

    def drain_permits(self, request: str) -> Any:
        return self._run("drain_permits", request, told=False)

    def delete(self, request: str) -> Any:
        return self._run("delete", request, told=False)


class Latch(Counter):
    """A latch; each method runs the step of its name and returns the bare reply."""

    word = "count_down_latch"
    name = "myLatch"
    channel = "redisson_countdownlatch__channel__{myLatch}"

    def try_set_count(self, request: str, count: int, publish: str = "publish") -> Any:
        return self._run("try_set_count", request, count, publish)

    def count_down(self, request: str, publish: str = "publish") -> Any:
        return self._run("count_down", request, publish)

    def delete(self, request: str, publish: str = "publish") -> Any:
        return self._run("delete", request, publish)
