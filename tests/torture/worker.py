"""A process full of owners: threads and tasks that acquire, count, and release until told to end.

    python -m tests.torture.worker '{"name": "2.0", "url": ..., "folder": ..., "seed": 1, ...}'

It says `ready`, and ends when its standard input does. What it did is in its file in the folder.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sys
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast import Client, HoldfastError, ServerError
from tests.support.actors import Flavour
from tests.torture.history import Log, now
from tests.torture.store import Store
from tests.torture.subjects import LEASE, PERMITS, SUBJECTS, Held, Subject, rest_of_the_moment

COMMAND_TIMEOUT = 2.0
_PATIENCES = (0.02, 0.5, 2.0, None, None)
_LONGEST_WORK = 0.02
_LONG_WORKS = 0.03
_STANDING = 0.3
"""How many of the turns are for names that are never left alone."""
STORES = "stores"
"""The folder of what is counted, in the folder of the run."""

Program = Generator[Any, Any, Any]
Still = Callable[[], bool]


@dataclass(frozen=True)
class Order:
    """What a worker is told by whoever starts it."""

    name: str
    url: str
    folder: str
    seed: int
    threads: int
    tasks: int

    @property
    def history(self) -> Path:
        return Path(self.folder) / f"{self.name}.history"


class Owner:
    """One thread or task of the worker."""

    def __init__(self, name: str, order: Order, log: Log, stop: threading.Event) -> None:
        self._name = name
        self._log = log
        self._stop = stop
        self._folder = Path(order.folder)
        self._random = random.Random(f"{order.seed} {name}")

    def live(self, client: Any, is_task: bool) -> Program:
        """Take turns until the worker is to end."""
        pause = asyncio.sleep if is_task else time.sleep
        while not self._stop.is_set():
            yield from self._turn(self._random.choice(SUBJECTS), client, pause)
            yield pause(rest_of_the_moment())

    def _turn(self, subject: Subject, client: Any, pause: Any) -> Program:
        name = subject.name(of_the_moment=self._random.random() > _STANDING)
        thing = subject.of(client, name)
        timeout = self._random.choice(_PATIENCES[: None if subject.patient else 3])
        details = {"subject": name, "weight": subject.weight, "timeout": timeout}
        number, called = self._log.call("acquire", owner=self._name, **details), now()
        try:
            grant = yield thing.acquire(timeout)
        except HoldfastError as error:
            self._log.returned(number, _word(error))
            return
        if not grant:
            self._log.returned(number, "refused")
            return
        token = thing.token
        self._log.returned(number, "granted", token)

        def still() -> bool:
            return self._still(thing, number, called)

        still()
        yield from self._work(subject, name, token, still, pause)
        still()
        yield from self._give_back(name, thing, grant, number)

    def _still(self, thing: Held, number: int, called: int) -> bool:
        """Whether the grant is trusted at this moment, which is written down."""
        at = now()
        trusted = thing.trusted(called, at)
        if trusted:
            self._log.trusted(number, at)
        return trusted

    def _work(
        self, subject: Subject, name: str, token: int | None, still: Still, pause: Any
    ) -> Program:
        """Count, if nobody else may be there, in two steps with a pause between them."""
        alone = subject.weight == subject.capacity
        store = Store(self._folder / STORES / name)
        value = store.read(token or 0) if alone else None
        yield pause(self._time_to_work())
        if value is not None:
            # A token is all the guard there is: whoever has been overtaken may try to write.
            store.write(value + 1, (lambda: True) if token else still, token or 0)

    def _time_to_work(self) -> float:
        """Mostly next to nothing: what goes wrong goes wrong in moments. Some holds are renewed."""
        if self._random.random() < _LONG_WORKS:
            return self._random.uniform(0, 1.5 * LEASE)
        return _LONGEST_WORK * self._random.random() ** 4

    def _give_back(self, name: str, thing: Held, grant: Any, number: int) -> Program:
        release = self._log.call("release", owner=self._name, subject=name, of=number)
        try:
            yield thing.release(grant)
        except HoldfastError as error:
            self._log.returned(release, _word(error))
        else:
            self._log.returned(release, "done")


def _word(error: HoldfastError) -> str:
    """The name of an error, or the server's word for it."""
    return error.code if isinstance(error, ServerError) else type(error).__name__


def run(order: Order) -> None:
    """Start all owners, and end them when the standard input ends."""
    logging.getLogger("holdfast").addHandler(logging.NullHandler())
    stop, log = threading.Event(), Log(order.history, order.name)
    ends, lives = [], []
    for flavour, count in ((Flavour("sync"), order.threads), (Flavour("asyncio"), order.tasks)):
        client = flavour.client(order.url, lease=LEASE, command_timeout=COMMAND_TIMEOUT)
        for index in range(count):
            owner = Owner(f"{order.name} {flavour}{index}", order, log, stop)
            lives.append(flavour.actor().begin(owner.live, client, flavour.asyncio))
        ends.append((flavour, client))
    print("ready", flush=True)
    sys.stdin.read()
    stop.set()
    for life in lives:
        life.result()
    for flavour, client in ends:
        flavour.actor().do(client.close)
        flavour.end()


def prepare(url: str, folder: Path) -> None:
    """What has to be there before the first worker comes."""
    (folder / STORES).mkdir()
    with Client(url) as client:
        client.semaphore("semaphore").try_set_permits(PERMITS)
        client.permit_semaphore("permit_semaphore").try_set_permits(PERMITS)


if __name__ == "__main__":
    run(Order(**json.loads(sys.argv[1])))
