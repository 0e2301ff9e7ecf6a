"""What goes wrong with locks, done on purpose."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import holdfast
import holdfast.inspect
from holdfast import observe, testing
from holdfast.integration import milliseconds

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

    from holdfast.integration import BaseClient, BaseLock

    from ._server import TestServer

__all__ = ["Faults"]

#: Seconds in which a holder learns of its loss.
BOUND = 10.0
#: Seconds between two looks.
STEP = 0.005


class _Holder:
    """The owners of one client that hold a name."""

    def __init__(self, lock: BaseLock) -> None:
        self._lock = lock
        self.asynchronous = testing.is_asynchronous(lock)
        self.owners = testing.owners(lock)

    def lose(self) -> None:
        """Remove the holds from the server."""
        testing.remove(self._lock)

    def knows(self, deadline: float) -> bool:
        """Whether all of them have learnt of their loss."""
        if time.monotonic() > deadline:
            msg = f"an owner of {self._lock.name!r} did not learn of its loss in {BOUND:.0f} s"
            raise AssertionError(msg)
        return testing.have_lost(self._lock, self.owners)


def _loops() -> Any:
    """The library of the running loop: trio or asyncio; ``None``: none runs."""
    trio: Any = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return trio
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return None
    return asyncio


class Faults:
    """Faults for the locks of one test. Names are as the test's clients spell them."""

    def __init__(self, server: TestServer) -> None:
        self._server = server
        self._thief = holdfast.Client(server.url)

    def lose(self, lock: BaseLock | str | bytes) -> Awaitable[None] | None:
        """The caller loses its hold, and knows it: ``lost`` is true, ``on_lost`` is called.

        With a lock of an asyncio client it is awaited, by the task that holds it. With a name, all
        owners in this process lose it, whichever thread or task they are; on the loop of a client
        for asyncio that is awaited, too. Raises ``NotOwnedError`` where the caller does not hold
        the lock, or no client of this process the name; ``TypeError`` for a semaphore, a hold, and
        what is built on locks.
        """
        if isinstance(lock, (str, bytes)):
            return self._lose_name(lock)
        if not testing.is_held(lock):
            msg = f"{lock.name!r} is not held by the caller: it cannot lose it"
            raise holdfast.NotOwnedError(msg)
        if testing.is_asynchronous(lock):
            return self._learn_async(lock, testing.start_remove(lock))
        testing.remove(lock)
        self._learn(lock)
        return None

    def _lose_name(self, name: str | bytes) -> Awaitable[None] | None:
        holders = [each for each in self._holders(name) if each.owners]
        if not holders:
            msg = f"{name!r} is not held by a client of this process: it cannot be lost"
            raise holdfast.NotOwnedError(msg)
        for holder in holders:
            holder.lose()
        deadline = time.monotonic() + BOUND
        if _loops() and any(holder.asynchronous for holder in holders):
            return self._learn_of_name(holders, deadline)
        while not all(holder.knows(deadline) for holder in holders):
            time.sleep(STEP)
        return None

    async def _learn_of_name(self, holders: list[_Holder], deadline: float) -> None:
        while not all(holder.knows(deadline) for holder in holders):
            await _loops().sleep(STEP)

    def _holders(self, name: str | bytes) -> Generator[_Holder]:
        for client in observe.clients():
            if client is self._thief or testing.is_closed(client):
                continue
            both = cast("Any", client).read_write_lock(name)
            for lock in (cast("Any", client).lock(name), both.read, both.write):
                yield _Holder(lock)

    def _learn(self, lock: BaseLock) -> None:
        deadline = time.monotonic() + BOUND
        while not self._knows(lock, deadline):
            time.sleep(STEP)

    async def _learn_async(self, lock: BaseLock, removed: Awaitable[Any]) -> None:
        await removed
        deadline = time.monotonic() + BOUND
        while not self._knows(lock, deadline):
            await _loops().sleep(STEP)

    @staticmethod
    def _knows(lock: BaseLock, deadline: float) -> bool:
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
        testing.pause_renewals(client, on=True)
        try:
            yield
        finally:
            testing.pause_renewals(client, on=False)

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
