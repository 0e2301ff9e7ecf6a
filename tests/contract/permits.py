"""A permit semaphore on one server: what its tests make and see."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from tests.support.actors import Flavour
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import eventually

NAME = "mySemaphore"
TIMEOUTS = "{mySemaphore}:timeout"
CHANNEL = "redisson_sc:{mySemaphore}"
UNKNOWN = "0123456789abcdef" * 2


class Permits:
    """A semaphore with a given number of permits, and the owners that use it."""

    def __init__(self, server: Server, flavour: Flavour, make_client: MakeClient) -> None:
        self.server = server
        self.flavour = flavour
        self._make_client = make_client
        self._main = flavour.actor()

    def semaphore(self, permits: int | None = None, **options: Any) -> Any:
        """The semaphore, of a new client with these options; `permits`: set them first."""
        semaphore = self._make_client(self.server.url, **options).permit_semaphore(NAME)
        if permits is not None:
            assert self.do(semaphore.try_set_permits, permits) is True
        return semaphore

    def do(self, method: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Make a call that does not wait."""
        return self._main.do(method, *args, **named)

    def take(self, semaphore: Any, **how: Any) -> str:
        """Take a permit that is free."""
        permit = self.do(semaphore.acquire, blocking=False, **how)
        assert permit is not None
        return str(permit)

    def wait(self, semaphore: Any, **how: Any) -> Future[Any]:
        """Let a new owner wait for a permit; returns once somebody waits or it has one."""
        waiting: Future[Any] = self.flavour.actor().begin(semaphore.acquire, **how)
        eventually(lambda: waiting.done() or self.subscribers > 0)
        return waiting

    # ---- what can be seen on the server

    @property
    def free(self) -> int:
        """The counter."""
        return int(self.server.inspect.get(NAME) or 0)

    @property
    def out(self) -> dict[str, float]:
        """The permits that are out, and the seconds that each has left."""
        seconds, micros = self.server.inspect.time()
        now = seconds * 1000 + micros / 1000
        scores = self.server.inspect.zrange(TIMEOUTS, 0, -1, withscores=True)
        return {permit.hex(): (score - now) / 1000 for permit, score in scores}

    def end_of(self, permit: str) -> float:
        """When a permit that is out expires, in ms since 1970."""
        return float(self.server.inspect.zscore(TIMEOUTS, bytes.fromhex(permit)))

    @property
    def subscribers(self) -> int:
        return self.server.subscribers(CHANNEL)

    def take_away(self, permit: str) -> None:
        """Remove a permit that is out, as an operator's hand would."""
        assert self.server.inspect.zrem(TIMEOUTS, bytes.fromhex(permit)) == 1
