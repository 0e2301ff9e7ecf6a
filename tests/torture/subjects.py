"""What the owners contend for, and how it is asked for and given back.

Methods return what the library's do: a value for threads, an awaitable for tasks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import holdfast
import holdfast.asyncio
from tests.support.actors import may_defer
from tests.support.waiting import let_pass, taking
from tests.torture.checker import Rule
from tests.torture.history import SECOND, now

LEASE = 3.0
"""Seconds; of the clients' watchdogs and of permits: short, so that pauses outlast it."""
PERMITS = 3
"""Of a semaphore; as many slots there are."""
PARTIES = 3
"""Of a barrier."""
MAJORITY_OF = 5
"""How many servers a red lock is made over."""
_COUNT = 3
"""Of a latch."""
_CROWD = 1000
"""More readers than there can be: the weight of a writer."""

_MOMENT = SECOND // 16
_LEASE_NS = int(LEASE * SECOND)
_TRUST_NS = int(LEASE * SECOND * 0.99) - 2_000_000


@dataclass(frozen=True)
class Subject:
    """A kind, and what is promised of it.

    `make(clients, name)` gives what is acquired, mostly of the first client; the others are of
    other servers. `weight` is how much of the capacity that takes. `leased`: who dies gives it
    back. `stays`, `passes`: it has but one name, or only those of a moment. `waits`: it is waited
    for, and not had; `meets`: by several, who go on together. `renewed`: unless it is acquired with
    a lease. `confirmed`: where replicas confirm what is granted, they know all of it.
    """

    kind: str
    make: Callable[[Sequence[Any], str], Any]
    capacity: int = 1
    weight: int = 1
    sort: type[Held] | None = None
    servers: int = 1
    leased: bool = True
    stays: bool = False
    passes: bool = False
    waits: bool = False
    meets: bool = False
    renewed: bool = True
    confirmed: bool = True

    @property
    def what(self) -> str:
        """What is called: see `Entry.what`."""
        if self.meets:
            return "meet"
        return "wait" if self.waits else "acquire"

    @property
    def has(self) -> bool:
        """Whether it is had, and released."""
        return self.what == "acquire"

    def counted(self, name: str, part: int | None) -> str | None:
        """What its owner counts in, if no other owner may be there."""
        if part is not None:
            return f"{name} {part}"
        return name if self.weight == self.capacity else None

    def of(self, clients: Sequence[Any], name: str) -> Held:
        return (self.sort or Held)(self.make(clients, name), clients[0])

    def name(self, *, of_the_moment: bool) -> str:
        """One that is there for the whole run, or that of this moment."""
        if self.stays or not (of_the_moment or self.passes):
            return self.kind
        return f"{self.kind} {now() // _MOMENT}"


def rest_of_the_moment() -> float:
    """Seconds until the names change.

    Owners come to the new names together, a few to each, and no owner comes later: so a waiter
    that misses its wake-up sleeps on, and no later owner wakes it by chance.
    """
    return (_MOMENT - now() % _MOMENT) / SECOND


class Held:
    """What is held by an owner, and renewed unless it is asked for with a lease: the locks."""

    steps = 1
    """How often `release` is to be called, the last time to release it."""
    undone = True
    """An acquisition, or a release, that is cancelled leaves nothing behind."""
    passes_on = False
    """Its release passes it on to another owner; no guard releases it on the way."""

    def __init__(self, thing: Any, client: Any) -> None:
        self.thing = thing
        self.client = client

    def acquire(self, timeout: float | None, lease: float | None) -> Any:
        if lease is None:
            return self.thing.acquire(timeout=timeout)
        return self.thing.acquire(timeout=timeout, lease=lease)

    def release(self, _grant: Any) -> Any:
        if may_defer(self.thing.release):
            return self.thing.release(wait=False)
        return self.thing.release()

    def trusted(self, _called: int, _at: int) -> bool:
        """Whether its owner, who called at `_called` to get it, may trust it at that moment."""
        return not self.thing.lost

    def token(self, _grant: Any) -> int | None:
        return None

    def part(self, _grant: Any) -> int | None:
        """The number of what was granted, where what has one name is numbered."""
        return None


class Fenced(Held):
    def token(self, _grant: Any) -> int | None:
        token: int | None = self.thing.token
        return token


class Permits(Held):
    """Permits without a lease: they are not taken away."""

    undone = False

    def acquire(self, timeout: float | None, _lease: float | None) -> Any:
        return self.thing.acquire(timeout=timeout)

    def trusted(self, _called: int, _at: int) -> bool:
        return True


class Leased(Held):
    """Permits that expire by themselves, with a fixed lease."""

    def acquire(self, timeout: float | None, _lease: float | None) -> Any:
        return self.thing.acquire(timeout=timeout, lease=LEASE)

    def release(self, grant: Any) -> Any:
        return self.thing.release(grant)

    def trusted(self, called: int, at: int) -> bool:
        return at < called + _TRUST_NS


class Holding(Held):
    """A hold as an object."""

    def __init__(self, thing: Any, client: Any) -> None:
        super().__init__(thing, client)
        self.asynchronous = isinstance(client, holdfast.asyncio.Client)
        self.hold: Any = None

    def acquire(self, timeout: float | None, lease: float | None) -> Any:
        wanted = {"wait": timeout} if lease is None else {"wait": timeout, "lease": lease}
        return self._await_hold(wanted) if self.asynchronous else self._hold(wanted)

    def _hold(self, wanted: Any) -> bool:
        try:
            self.hold = self.thing.hold(**wanted)
        except holdfast.LockTimeout:
            return False
        return True

    async def _await_hold(self, wanted: Any) -> bool:
        try:
            self.hold = await self.thing.hold(**wanted)
        except holdfast.LockTimeout:
            return False
        return True

    def release(self, _grant: Any) -> Any:
        return self.hold.release()

    def trusted(self, _called: int, _at: int) -> bool:
        return not self.hold.lost

    def token(self, _grant: Any) -> int | None:
        token: int | None = self.hold.token
        return token


class Passed(Holding):
    """A hold that changes its owner: it is detached, attached again, and released there.

    Where that fails, the hold that is left is released.
    """

    undone = False
    passes_on = True

    def release(self, _grant: Any) -> Any:
        return self._await_passed() if self.asynchronous else self._passed()

    def _passed(self) -> None:
        try:
            self.hold = self.client.attach(self.hold.detach(LEASE), lease=LEASE)
        finally:
            self.hold.release()

    async def _await_passed(self) -> None:
        try:
            ticket = await self.hold.detach(LEASE)
            self.hold = await self.client.attach(ticket, lease=LEASE)
        finally:
            await self.hold.release()


class Led(Fenced):
    """A leadership; its lease is that of the candidate."""

    def acquire(self, timeout: float | None, lease: float | None) -> Any:
        if lease is not None:
            self.thing = self.client.leader(self.thing.name, lease=lease)
        return self.thing.campaign(timeout)

    def release(self, _grant: Any) -> Any:
        return self.thing.resign()

    def trusted(self, _called: int, _at: int) -> bool:
        leading: bool = self.thing.leading
        return leading


class Numbered(Leased):
    """Slots that expire by themselves, with a fixed lease."""

    def release(self, grant: Any) -> Any:
        return grant.release()

    def token(self, grant: Any) -> int | None:
        token: int | None = grant.token
        return token

    def part(self, grant: Any) -> int | None:
        index: int | None = grant.index
        return index


class Closed(Held):
    """A latch that an owner has closed; it opens by the last of its steps."""

    steps = _COUNT
    undone = False

    def acquire(self, _timeout: float | None, _lease: float | None) -> Any:
        return self.thing.try_set_count(_COUNT)

    def release(self, _grant: Any) -> Any:
        return self.thing.count_down()

    def trusted(self, _called: int, _at: int) -> bool:
        return True


class Gate(Held):
    """A latch that is waited for."""

    def acquire(self, timeout: float | None, _lease: float | None) -> Any:
        return self.thing.wait(timeout)


class Meeting(Held):
    """A barrier; the party that finds it broken mends it."""

    def acquire(self, timeout: float | None, _lease: float | None) -> Any:
        asynchronous = isinstance(self.client, holdfast.asyncio.Client)
        return self._await_all(timeout) if asynchronous else self._all(timeout)

    def _all(self, timeout: float | None) -> int | None:
        try:
            place: int = self.thing.wait(timeout)
        except holdfast.BrokenBarrierError:
            if self.thing.broken:
                self.thing.reset()
            return None
        return place

    async def _await_all(self, timeout: float | None) -> int | None:
        try:
            place: int = await self.thing.wait(timeout)
        except holdfast.BrokenBarrierError:
            if await self.thing.broken:
                await self.thing.reset()
            return None
        return place

    def part(self, grant: Any) -> int | None:
        place: int = grant
        return place


def _blocks(_lost: Any) -> None:
    """A handler of a loss that takes its time, on a thread of the library."""
    let_pass(LEASE * random.random() ** 2)


async def _takes_time(_lost: Any) -> None:
    await taking(LEASE * random.random() ** 2)


def _handler(client: Any) -> Any:
    return _takes_time if isinstance(client, holdfast.asyncio.Client) else _blocks


def _multi_lock(parts: str) -> Callable[[Sequence[Any], str], Any]:
    return lambda clients, name: clients[0].multi_lock(
        *(clients[0].lock(f"{name} {part}") for part in parts)
    )


def _red_lock(clients: Sequence[Any], name: str) -> Any:
    locks = [client.lock(name) for client in clients]
    asynchronous = isinstance(clients[0], holdfast.asyncio.Client)
    return holdfast.asyncio.RedLock(*locks) if asynchronous else holdfast.RedLock(*locks)


SUBJECTS = (
    Subject("lock", lambda clients, name: clients[0].lock(name, on_lost=_handler(clients[0]))),
    Subject("fair_lock", lambda clients, name: clients[0].fair_lock(name)),
    Subject("fenced_lock", lambda clients, name: clients[0].fenced_lock(name), sort=Fenced),
    Subject("lock", lambda clients, name: clients[0].lock(name), sort=Holding),
    Subject("fair_lock", lambda clients, name: clients[0].fair_lock(name), sort=Passed),
    Subject("fenced_lock", lambda clients, name: clients[0].fenced_lock(name), sort=Holding),
    Subject("spin_lock", lambda clients, name: clients[0].spin_lock(name)),
    Subject("read_write_lock", lambda clients, name: clients[0].read_write_lock(name).read, _CROWD),
    Subject(
        "read_write_lock",
        lambda clients, name: clients[0].read_write_lock(name).write,
        _CROWD,
        weight=_CROWD,
    ),
    Subject("multi_lock", _multi_lock("ab")),
    Subject("multi_lock", _multi_lock("ba")),
    Subject("red_lock", _red_lock, servers=MAJORITY_OF),
    Subject(
        "semaphore",
        lambda clients, name: clients[0].semaphore(name),
        PERMITS,
        sort=Permits,
        leased=False,
        stays=True,
    ),
    Subject(
        "permit_semaphore",
        lambda clients, name: clients[0].permit_semaphore(name),
        PERMITS,
        sort=Leased,
        stays=True,
        renewed=False,
    ),
    Subject("leader", lambda clients, name: clients[0].leader(name), sort=Led),
    Subject(
        "slots",
        lambda clients, name: clients[0].slots(name, PERMITS),
        PERMITS,
        sort=Numbered,
        stays=True,
        renewed=False,
        confirmed=False,
    ),
    Subject(
        "barrier",
        lambda clients, name: clients[0].barrier(name, PARTIES),
        PARTIES,
        sort=Meeting,
        leased=False,
        stays=True,
        meets=True,
    ),
    Subject(
        "count_down_latch",
        lambda clients, name: clients[0].count_down_latch(name),
        sort=Closed,
        leased=False,
        passes=True,
    ),
    Subject(
        "count_down_latch",
        lambda clients, name: clients[0].count_down_latch(name),
        sort=Gate,
        leased=False,
        passes=True,
        waits=True,
    ),
)


def subjects(servers: int, replicas: int) -> list[Subject]:
    """The subjects that can be judged on `servers` servers with `replicas` replicas each.

    A replica that takes its primary's place may have missed a moment. Leases make good for that;
    what has none is wrong from then on, and so is what no replica confirms.
    """
    return [
        subject
        for subject in SUBJECTS
        if subject.servers <= servers and ((subject.leased and subject.confirmed) or not replicas)
    ]


RULES = {
    subject.kind: Rule(subject.capacity, _LEASE_NS if subject.leased else None)
    for subject in SUBJECTS
}

MAY_STAY = (
    "redisson_lock_token:",
    "semaphore",
    "permit_semaphore",
    "{permit_semaphore}",
    "slots",
    "{slots}",
    "holdfast_slots:",
    "holdfast_state:{leader",
    "holdfast_state:{barrier",
)
"""Keys that are there for good begin so: the newest token, the permits, a leader that has died."""
MAY_EXPIRE = ("redisson_request:", "barrier", "{barrier}")
"""Keys that outlive those who made them begin so, if they have a time limit: what was requested."""
LINES = "redisson_lock_queue:"
"""The keys of the fair locks' lines begin so."""
