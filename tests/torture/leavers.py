"""Callers that leave in the middle.

Ctrl-C interrupts a `with` block, a thread or task ends while it holds, a client is closed under its
callers or garbage-collected.
"""

from __future__ import annotations

import asyncio
import random
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

from holdfast import HoldfastError, ServerError
from tests.support.waiting import let_pass, taking
from tests.torture.history import Log, now
from tests.torture.subjects import Fenced, Subject, rest_of_the_moment

Clients = Sequence[Any]
Acquire = Callable[[Clients], Any]
"""Asks for something by these clients; threads get the result, tasks an awaitable."""

_LATEST_CLOSE = 0.1
_LONGEST_BLOCK = 0.02


class Interrupted(Exception):
    """The call was cancelled."""


def word(error: BaseException) -> str:
    """An error as the history has it: the server's error code, or the name of its class."""
    if isinstance(error, (KeyboardInterrupt, Interrupted)):
        return "cancelled"
    return error.code if isinstance(error, ServerError) else type(error).__name__


def _outcome(grant: object) -> str:
    return "granted" if grant else "refused"


class LeavingThreads:
    """Ways in which a thread leaves. Each returns what became of the acquisition."""

    def __init__(self, make: Callable[[], Clients], source: random.Random) -> None:
        self._make = make
        self.ways = (self.end, self.close, self.drop)
        self._random = source

    def end(self, clients: Clients, acquire: Acquire) -> str:
        """A thread acquires and ends; its hold is no longer renewed."""
        result: list[str] = []
        thread = threading.Thread(target=lambda: result.append(self._ask(clients, acquire)))
        thread.start()
        thread.join()
        return result[0]

    def close(self, _clients: Clients, acquire: Acquire) -> str:
        """The client is closed while another thread waits, holds, or has just asked."""
        clients, result = self._make(), list[str]()
        thread = threading.Thread(target=lambda: result.append(self._ask(clients, acquire)))
        thread.start()
        let_pass(_LATEST_CLOSE * self._random.random() ** 2)
        for client in clients:
            client.close(release_held=self._random.random() < 0.5)
        thread.join()
        return result[0]

    def drop(self, _clients: Clients, acquire: Acquire) -> str:
        """The last reference to a client goes while it holds."""
        return self._ask(self._make(), acquire)

    def _ask(self, clients: Clients, acquire: Acquire) -> str:
        try:
            return _outcome(acquire(clients))
        except HoldfastError as error:
            return word(error)


class LeavingTasks:
    """The same for tasks; each returns an awaitable."""

    def __init__(self, make: Callable[[], Clients], source: random.Random) -> None:
        self._make = make
        self.ways = (self.end, self.close, self.drop)
        self._random = source

    async def end(self, clients: Clients, acquire: Acquire) -> str:
        """A task acquires and ends; its hold is no longer renewed."""
        return await asyncio.create_task(self._ask(clients, acquire))

    async def close(self, _clients: Clients, acquire: Acquire) -> str:
        """The client is closed while another task waits, holds, or has just asked."""
        clients = self._make()
        task = asyncio.create_task(self._ask(clients, acquire))
        await taking(_LATEST_CLOSE * self._random.random() ** 2)
        for client in clients:
            await client.close(release_held=self._random.random() < 0.5)
        return await task

    async def drop(self, _clients: Clients, acquire: Acquire) -> str:
        """The last reference to a client goes while it holds."""
        return await asyncio.create_task(self._ask(self._make(), acquire))

    async def _ask(self, clients: Clients, acquire: Acquire) -> str:
        try:
            return _outcome(await acquire(clients))
        except HoldfastError as error:
            return word(error)


class MainThread:
    """The owner that Ctrl-C interrupts: the worker's main thread, in `with` blocks.

    The interrupt may arrive anywhere in a block, its entry and its exit, but not while a line of
    the history is written: then it comes right after that.
    """

    def __init__(self, name: str, log: Log, source: random.Random, *, judged: bool) -> None:
        self._name = name
        self._log = log
        self._random = source
        self._judged = judged
        self._open = False
        signal.signal(signal.SIGINT, self._interrupt)

    def live(self, subjects: Sequence[Subject], clients: Clients, stop: threading.Event) -> None:
        """Take turns until the worker is to end."""
        blocks = [s for s in subjects if s.leased and s.sort in {None, Fenced}]
        while not stop.is_set():
            self._turn(self._random.choice(blocks), clients)
            let_pass(rest_of_the_moment())

    def _turn(self, subject: Subject, clients: Clients) -> None:
        name = subject.name(of_the_moment=self._random.random() > 0.3)
        lock = subject.make(clients, name)
        details = {"owner": self._name, "subject": name, "weight": subject.weight}
        acquired = self._log.call("acquire", timeout=None, **details)
        asking: int | None = acquired  # the call that has not returned
        try:
            self._open = True
            with lock:
                self._open = False
                self._log.returned(acquired, "granted", getattr(lock, "token", None))
                asking = None
                self._work(lock, acquired)
                asking = self._release_of(acquired, name)
                self._open = True
            self._open = False
            self._log.returned(asking, "done")
        except (HoldfastError, KeyboardInterrupt) as error:
            self._open = False
            if asking is None:
                asking = self._release_of(acquired, name)
            self._log.returned(asking, word(error))

    def _release_of(self, acquired: int, name: str) -> int:
        return self._log.call("release", owner=self._name, subject=name, of=acquired)

    def _work(self, lock: Any, number: int) -> None:
        self._open = True
        let_pass(_LONGEST_BLOCK * self._random.random() ** 2)
        self._open = False
        at = now()
        if self._judged and not lock.lost:
            self._log.trusted(number, at)

    def _interrupt(self, _signal: int, _frame: object) -> None:
        if self._open:
            self._open = False
            raise KeyboardInterrupt
