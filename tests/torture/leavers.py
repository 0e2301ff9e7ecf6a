"""Callers that leave in the middle.

Ctrl-C interrupts a `with` block, a thread or task ends while it holds, a client is closed under its
callers or garbage-collected, a child of `fork` goes on with the clients of its parent.
"""

from __future__ import annotations

import asyncio
import ctypes
import functools
import gc
import os
import random
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from holdfast import HoldfastError, ServerError
from tests.support.waiting import let_pass, taking
from tests.torture.history import Log, now
from tests.torture.store import LONGEST_LIMIT, opened
from tests.torture.subjects import Fenced, Subject, rest_of_the_moment

Clients = Sequence[Any]
Acquire = Callable[[Clients], Any]
"""Asks for something by these clients; threads get the result, tasks an awaitable."""

_LATEST_CLOSE = 0.1
_LONGEST_BLOCK = 0.02
_ALARMS = 0.3
"""How many of the main thread's turns are interrupted, where they have not ended by then."""
_LATEST_ALARM = 0.1
_PR_SET_PDEATHSIG = 1


class Interrupted(Exception):
    """The call was cancelled."""


def word(error: BaseException) -> str:
    """An error as the history has it: the server's error code, or the name of its class."""
    if isinstance(error, (KeyboardInterrupt, Interrupted)):
        return "cancelled"
    return error.code if isinstance(error, ServerError) else type(error).__name__


def _outcome(grant: object) -> str:
    return "granted" if grant else "refused"


class Child:
    """A child of `fork` that asks, by the clients of its parent, and ends while it holds, or not.

    It dies with the thread that forked it: it asks for nothing after its worker's death.
    """

    def __init__(self, ask: Callable[[], str]) -> None:
        self._reader, writer = opened(os.pipe)
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            _be_child(parent, writer, ask)
        os.close(writer)

    def result(self) -> str:
        """What became of it, once the child has ended. To be called once."""
        with os.fdopen(self._reader) as pipe:
            result = pipe.read()
        os.waitpid(self._pid, 0)
        assert result, "a child of fork ended without a result"
        return result


def _be_child(parent: int, writer: int, ask: Callable[[], str]) -> NoReturn:
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a limit of the parent's
        if os.getppid() == parent:
            os.write(writer, ask().encode("ascii"))
    except BaseException:  # noqa: BLE001 - nothing of the parent's may run in the child
        traceback.print_exc()
    finally:
        os._exit(0)


def made(make: Callable[[], Clients]) -> Clients:
    """Clients with a guard, which cannot be started at a limit of descriptors."""
    until = time.monotonic() + LONGEST_LIMIT
    while True:
        try:
            return make()
        except RuntimeError:
            if time.monotonic() > until:
                raise
        let_pass(0.01)


class LeavingThreads:
    """Ways in which a thread leaves. Each returns what became of the acquisition."""

    def __init__(
        self, make: Callable[[], Clients], source: random.Random, *, forks: bool = True
    ) -> None:
        """`forks`: not greenlets, whose hub would run all of them in the child, too."""
        self._make = functools.partial(made, make)
        self.ways = (self.end, self.close, self.drop, *([self.fork] if forks else []))
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
        result = self._ask(self._make(), acquire)
        gc.collect()  # a lock with a handler of its loss is in a circle with its client
        return result

    def fork(self, clients: Clients, acquire: Acquire) -> str:
        """A child asks, and ends; it may close the clients before that."""
        closes, releases = self._random.random() < 0.5, self._random.random() < 0.5

        def ask() -> str:
            result = self._ask(clients, acquire)
            for client in clients if closes else ():
                client.close(release_held=releases)
            return result

        return Child(ask).result()

    def _ask(self, clients: Clients, acquire: Acquire) -> str:
        try:
            return _outcome(acquire(clients))
        except HoldfastError as error:
            return word(error)


class LeavingTasks:
    """The same for tasks; each returns an awaitable."""

    def __init__(
        self, make: Callable[[], Clients], source: random.Random, *, forks: bool = True
    ) -> None:
        """`forks`: not greenlets, whose hub would run all of them in the child, too."""
        self._make = functools.partial(made, make)
        self.ways = (self.end, self.close, self.drop, *([self.fork] if forks else []))
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
        result = await asyncio.create_task(self._ask(self._make(), acquire))
        gc.collect()
        return result

    async def fork(self, clients: Clients, acquire: Acquire) -> str:
        """A child asks on a new loop, and ends; it may close the clients before that."""
        closes, releases = self._random.random() < 0.5, self._random.random() < 0.5

        async def ask() -> str:
            result = await self._ask(clients, acquire)
            for client in clients if closes else ():
                await client.close(release_held=releases)
            return result

        return await asyncio.to_thread(Child(lambda: asyncio.run(ask())).result)

    async def _ask(self, clients: Clients, acquire: Acquire) -> str:
        try:
            return _outcome(await acquire(clients))
        except HoldfastError as error:
            return word(error)


class MainThread:
    """The owner that Ctrl-C and alarms interrupt: the worker's main thread, in `with` blocks.

    The interrupt may arrive anywhere in a block, its entry and its exit, but not while a line of
    the history is written: then it comes right after that.
    """

    def __init__(self, name: str, log: Log, source: random.Random, *, judged: bool) -> None:
        self._name = name
        self._log = log
        self._random = source
        self._judged = judged
        self._open = False
        for number in (signal.SIGINT, signal.SIGALRM):
            if "gevent" in sys.modules:
                _let_hub_call(number, self._interrupt_greenlet)
            else:
                signal.signal(number, self._interrupt)

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
        self._set_alarm()
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
            self._log.failed(asking, word(error), str(error))

    def _set_alarm(self) -> None:
        """Let an alarm ring in this turn or after it, or none; the last turn's rings no more."""
        rings = self._random.random() < _ALARMS
        seconds = max(1e-6, _LATEST_ALARM * self._random.random() ** 4) if rings else 0
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def _release_of(self, acquired: int, name: str) -> int:
        return self._log.call("release", owner=self._name, subject=name, of=acquired)

    def _work(self, lock: Any, number: int) -> None:
        self._open = True
        let_pass(_LONGEST_BLOCK * self._random.random() ** 2)
        self._open = False
        at = now()
        if lock.lost:
            self._log.lost(number)
        elif self._judged:
            self._log.trusted(number, at)

    def _interrupt(self, _signal: int, _frame: object) -> None:
        if self._open:
            self._open = False
            raise KeyboardInterrupt

    def _interrupt_greenlet(self, main: Any) -> None:
        if self._open:
            self._open = False
            main.throw(KeyboardInterrupt)


def _let_hub_call(number: int, handler: Callable[[Any], None]) -> None:
    """Let the hub call it with this greenlet, which waits then.

    A handler that raises while the hub runs would end what the hub does for other greenlets.
    """
    import gevent

    main, loop = gevent.getcurrent(), gevent.get_hub().loop
    gevent.signal_handler(number, lambda: loop.run_callback(handler, main))
