"""A process full of owners: threads and tasks that acquire, count, and release until told to end.

    python -m tests.torture.worker '{"name": "2.0", "urls": [...], "folder": ..., "seed": 1, ...}'

It says `ready`, and ends when its standard input does. What it did is in its file in the folder.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import random
import select
import sys
import threading
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast import Client, HoldfastError
from tests.support.actors import Flavour
from tests.support.waiting import let_pass, taking
from tests.torture.history import Log, now
from tests.torture.leavers import Interrupted, LeavingTasks, LeavingThreads, MainThread, word
from tests.torture.store import Store
from tests.torture.subjects import LEASE, PERMITS, Held, Subject, rest_of_the_moment, subjects

COMMAND_TIMEOUT = 2.0
_PATIENCES = (0.02, 0.5, 2.0, None, None)
_LONGEST_WORK = 0.02
_LONGEST_STEP = 0.03
_LONG_WORKS, _LONG_WORKS_WHERE_HOLDS_END = 0.03, 0.15
_LEAVES = 0.04
"""How many turns are those of a caller that leaves."""
_STANDING = 0.3
"""How many of the turns are for names that are never left alone."""
_CANCELLED = 0.15
"""How many of a task's calls are cancelled, where they have not returned by then."""
_LATEST_CANCEL = 0.5
_WITH_LEASE = 0.5
"""How many of the holds are not renewed, where replicas confirm a grant but no renewal."""
_BLOCKED, _LONGEST_BLOCK = 0.1, 2.0
"""How many records of the log block their handler, and for how many seconds."""
STORES = "stores"
"""The folder of what is counted, in the folder of the run."""

Program = Generator[Any, Any, Any]
Still = Callable[[], bool]


@dataclass(frozen=True)
class Order:
    """The orders of a worker."""

    name: str
    urls: Sequence[str]
    """The first is where everything is; all together are those of a red lock."""
    replicas: int
    """How many have to confirm a grant."""
    folder: str
    seed: int
    threads: int
    tasks: int
    greenlets: bool = False
    """The threads are those of gevent."""
    guarded: bool = False
    """A guard releases what it holds when it is killed."""

    @property
    def history(self) -> Path:
        return Path(self.folder) / f"{self.name}.history"


class Owner:
    """One thread or task of the worker."""

    def __init__(
        self, name: str, order: Order, log: Log, stop: threading.Event, flavour: Flavour
    ) -> None:
        self._is_task = flavour.asyncio
        self._is_greenlet = order.greenlets
        self._name = name
        self._log = log
        self._stop = stop
        self._folder = Path(order.folder)
        self._random = random.Random(f"{order.seed} {name}")
        self._replicas = order.replicas
        ends = order.replicas or order.guarded
        self._long_works = _LONG_WORKS_WHERE_HOLDS_END if ends else _LONG_WORKS
        self._subjects = subjects(len(order.urls), order.replicas)
        leaving = LeavingTasks if flavour.asyncio else LeavingThreads
        make = functools.partial(make_clients, flavour, order)
        self._leaving = leaving(make, self._random, forks=not order.greenlets)

    def live(self, clients: Sequence[Any]) -> Program:
        """Take turns until the worker is to end."""
        while not self._stop.is_set():
            subject = self._random.choice(self._subjects)
            leaves = subject.leased and self._random.random() < _LEAVES
            yield from (self._leave if leaves else self._turn)(subject, clients)
            yield self._pause(rest_of_the_moment())

    def _turn(self, subject: Subject, clients: Sequence[Any]) -> Program:
        name = subject.name(of_the_moment=self._random.random() > _STANDING)
        thing = subject.of(clients, name)
        timeout = self._random.choice(_PATIENCES[: None if subject.leased else 3])
        lease, judged = self._lease(subject)
        if subject.waits:
            yield self._pause(_LONGEST_STEP * self._random.random())  # until it has been closed
        details = {"subject": name, "weight": subject.weight, "timeout": timeout, "lease": lease}
        number, called = self._log.call(subject.what, owner=self._name, **details), now()
        try:
            acquire = functools.partial(thing.acquire, timeout, lease)
            grant = yield self._perhaps_cancelled(thing, acquire)
        except (HoldfastError, Interrupted) as error:
            self._log.failed(number, word(error), str(error))
            return
        if grant is None or grant is False:
            self._log.returned(number, "refused")
            return
        token, part = thing.token(grant), thing.part(grant)
        self._log.returned(number, "granted", token, part)
        if not subject.has:
            return

        def still() -> bool:
            return self._still(thing, number, called, judged)

        still()
        yield from self._work(subject.counted(name, part), token, still)
        still()
        yield from self._give_back(name, thing, grant, number)

    def _leave(self, subject: Subject, clients: Sequence[Any]) -> Program:
        """Ask as a caller that leaves; what it got is gone when its lease is over."""
        name = subject.name(of_the_moment=self._random.random() > _STANDING)
        timeout, (lease, _) = self._random.choice(_PATIENCES[:3]), self._lease(subject)
        way = self._random.choice(self._leaving.ways)

        def acquire(these: Sequence[Any]) -> Any:
            return subject.of(these, name).acquire(timeout, lease)

        details = {"subject": name, "weight": subject.weight, "timeout": timeout}
        number = self._log.call(subject.what, owner=self._name, way=way.__name__, **details)
        self._log.returned(number, (yield way(clients, acquire)))

    def _lease(self, subject: Subject) -> tuple[float | None, bool]:
        """That of a hold, and whether it is to be judged: no replica confirms a renewal."""
        if not subject.renewed:
            return LEASE, True
        if not self._replicas:
            return None, True
        fixed = self._random.random() < _WITH_LEASE
        return LEASE if fixed else None, fixed

    def _perhaps_cancelled(self, thing: Held, call: Callable[[], Any]) -> Any:
        """Call; a task or greenlet may be cancelled in it, where that leaves nothing behind."""
        may_be = self._is_task or self._is_greenlet
        if not (may_be and thing.undone and self._random.random() < _CANCELLED):
            return call()
        after = _LATEST_CANCEL * self._random.random() ** 4
        return (_cancelled_after if self._is_task else _timed_out_after)(after, call)

    def _pause(self, seconds: float) -> Any:
        return taking(seconds) if self._is_task else let_pass(seconds)

    def _still(self, thing: Held, number: int, called: int, judged: bool) -> bool:
        """Whether the grant may be trusted at this moment, which is written down, or is lost."""
        at = now()
        trusted = thing.trusted(called, at)
        if not trusted:
            self._log.lost(number)
        elif judged:
            self._log.trusted(number, at)
        return trusted and judged

    def _work(self, counted: str | None, token: int | None, still: Still) -> Program:
        """Count, if no other owner may be there, in two steps with a pause between them.

        Who works longer looks now and then whether he may go on trusting.
        """
        store = Store(self._folder / STORES / counted) if counted else None
        value = store.read(token or 0) if store else None
        left = self._time_to_work()
        while left > _LONGEST_WORK:
            yield self._pause(_LONGEST_WORK)
            still()
            left -= _LONGEST_WORK
        yield self._pause(left)
        if store and value is not None:
            # A token is all the guard there is: an overtaken owner may try to write.
            store.write(value + 1, (lambda: True) if token else still, token or 0)

    def _time_to_work(self) -> float:
        """Mostly next to nothing: what goes wrong goes wrong in moments. Some holds are renewed.

        Where a failover may forget a hold, or a guard has to release it, there are more of them.
        """
        if self._random.random() < self._long_works:
            return self._random.uniform(0, 1.5 * LEASE)
        return _LONGEST_WORK * self._random.random() ** 4

    def _give_back(self, name: str, thing: Held, grant: Any, number: int) -> Program:
        try:
            for _ in range(1, thing.steps):
                yield thing.release(grant)
                yield self._pause(_LONGEST_STEP * self._random.random())
        except HoldfastError as error:
            release = self._log.call("release", owner=self._name, subject=name, of=number)
            self._log.failed(release, word(error), str(error))
            return
        way = "passed on" if thing.passes_on else ""
        release = self._log.call("release", owner=self._name, subject=name, of=number, way=way)
        try:
            yield self._perhaps_cancelled(thing, functools.partial(thing.release, grant))
        except (HoldfastError, Interrupted) as error:
            self._log.failed(release, word(error), str(error))
        else:
            self._log.returned(release, "done")


def _timed_out_after(seconds: float, call: Callable[[], Any]) -> Any:
    """Call in the greenlet that calls, which is thrown out of it if it has not returned by then."""
    import gevent

    with gevent.Timeout(seconds, Interrupted):
        return call()


async def _cancelled_after(seconds: float, call: Callable[[], Awaitable[Any]]) -> Any:
    """Await the call in the task that calls, which is cancelled if it has not returned by then."""
    task = asyncio.current_task()
    assert task is not None
    cancel = asyncio.get_running_loop().call_later(seconds, task.cancel)
    try:
        return await call()
    except asyncio.CancelledError:
        if hasattr(task, "uncancel"):  # since Python 3.11
            task.uncancel()
        raise Interrupted from None
    finally:
        cancel.cancel()


def _stop_at_end_of_input(stop: threading.Event, source: int) -> None:
    select.select([source], [], [])  # nothing is ever written there
    stop.set()


class Blocking(logging.Handler):
    """A handler of the log that blocks now and then."""

    def __init__(self, seed: str) -> None:
        super().__init__()
        self._random = random.Random(seed)

    def emit(self, record: logging.LogRecord) -> None:
        record.getMessage()
        if self._random.random() < _BLOCKED:
            let_pass(_LONGEST_BLOCK * self._random.random())


def run(order: Order, source: int = 0, clients_of_threads: Sequence[Any] | None = None) -> None:
    """Start all owners, and end them when the input ends: by default the standard input.

    `clients_of_threads`: those that are there already.
    """
    logging.getLogger("holdfast").addHandler(Blocking(f"{order.seed} {order.name} log"))
    stop, log = threading.Event(), Log(order.history, order.name)
    ends, lives = [], []
    for flavour, count in ((Flavour("sync"), order.threads), (Flavour("asyncio"), order.tasks)):
        if not count:
            continue
        clients = _clients(flavour, order, clients_of_threads)
        for index in range(count):
            name = f"{order.name} {flavour}{index}"
            owner = Owner(name, order, log, stop, flavour)
            lives.append(flavour.actor().begin(owner.live, clients))
        ends.append((flavour, clients))
    chance = random.Random(f"{order.seed} {order.name} main")
    main = MainThread(f"{order.name} main", log, chance, judged=not order.replicas)
    threading.Thread(target=_stop_at_end_of_input, args=(stop, source), daemon=True).start()
    print("ready", flush=True)
    kinds = subjects(len(order.urls), order.replicas)
    main.live(kinds, next(clients for flavour, clients in ends if not flavour.asyncio), stop)
    for life in lives:
        life.result()
    for flavour, clients in ends:
        for client in clients:
            flavour.actor().do(client.close)
        flavour.end()


def _clients(flavour: Flavour, order: Order, of_threads: Sequence[Any] | None) -> Sequence[Any]:
    """Those that are there, or new ones."""
    return of_threads if of_threads and not flavour.asyncio else make_clients(flavour, order)


def make_clients(flavour: Flavour, order: Order) -> list[Any]:
    """A client for each of the order's servers."""
    options: dict[str, Any] = {"lease": LEASE, "command_timeout": COMMAND_TIMEOUT}
    if order.replicas:
        options["replicas_to_wait"] = order.replicas
    if order.guarded:
        options["guard"] = True
    return [flavour.client(url, **options) for url in order.urls]


def prepare(url: str, folder: Path) -> None:
    """What has to be there before the first worker comes."""
    (folder / STORES).mkdir()
    with Client(url) as client:
        client.semaphore("semaphore").try_set_permits(PERMITS)
        client.permit_semaphore("permit_semaphore").try_set_permits(PERMITS)


if __name__ == "__main__":
    run(Order(**json.loads(sys.argv[1])))
