"""What goes wrong with locks, done on purpose."""

from __future__ import annotations

import inspect
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import holdfast
import holdfast.inspect
from holdfast._arguments import milliseconds

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

    from holdfast._base_client import BaseClient
    from holdfast._lock import BaseLock

    from ._server import TestServer

__all__ = ["Faults"]

#: Seconds in which a holder learns of its loss.
BOUND = 10.0
#: Seconds between two looks.
STEP = 0.005


class Faults:
    """Faults for the locks of one test. Names are as the test's clients spell them."""

    def __init__(self, server: TestServer) -> None:
        self._server = server
        self._thief = holdfast.Client(server.url)

    def lose(self, lock: BaseLock) -> Awaitable[None] | None:
        """The caller loses its hold, and knows it: ``lost`` is true, ``on_lost`` is called.

        With a lock of an asyncio client it is awaited, by the task that holds it. Raises
        ``NotOwnedError`` where the caller does not hold the lock.
        """
        if not lock._core.known_count(lock._owner()):
            msg = f"{lock.name!r} is not held by the caller: it cannot lose it"
            raise holdfast.NotOwnedError(msg)
        removed: Any = cast("Any", lock).force_release()
        if inspect.isawaitable(removed):
            return self._learn_async(lock, removed)
        self._learn(lock)
        return None

    def _learn(self, lock: BaseLock) -> None:
        deadline = time.monotonic() + BOUND
        while not self._told(lock, deadline):
            time.sleep(STEP)

    async def _learn_async(self, lock: BaseLock, removed: Awaitable[Any]) -> None:
        import asyncio

        await removed
        deadline = time.monotonic() + BOUND
        while not self._told(lock, deadline):  # noqa: ASYNC110 - an attribute says it
            await asyncio.sleep(STEP)

    @staticmethod
    def _told(lock: BaseLock, deadline: float) -> bool:
        if time.monotonic() > deadline:
            msg = f"the holder of {lock.name!r} did not learn of its loss within {BOUND:.0f} s"
            raise AssertionError(msg)
        return lock.lost

    @contextmanager
    def steal(self, name: str | bytes) -> Generator[None]:
        """Inside the block another owner holds the lock, even if it was held before."""
        self.expire(name)
        with self._thief.lock(name).hold(wait=BOUND):
            yield

    def expire(self, name: str | bytes) -> None:
        """The lease of the lock is over on the server; its holder has not heard of it yet."""
        holdfast.inspect.force_release(self._thief, name)

    @contextmanager
    def pause_renewals(self, client: BaseClient) -> Generator[None]:
        """Inside the block the watchdog of the client renews nothing: leases run out."""
        client._core.pause_renewals(True)
        try:
            yield
        finally:
            client._core.pause_renewals(False)

    def drop_connections(self) -> None:
        """Cut every connection to the server, those of subscribers too."""
        for kind in ("normal", "pubsub"):
            self._server.command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")

    def freeze(self, seconds: float) -> None:
        """The server answers nothing for this time, in seconds; the call returns at once."""
        milliseconds("seconds", seconds)
        self._server.freeze(seconds)

    def end(self) -> None:
        """Let the server answer again, and end what this has made."""
        self._server.thaw()
        self._thief.close()
