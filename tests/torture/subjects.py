"""What the owners contend for, and how it is asked for and given back.

Methods return what the library's do: a value for threads, an awaitable for tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.torture.checker import Rule
from tests.torture.history import SECOND, now

LEASE = 2.0
"""Seconds; of the clients' watchdogs and of permits: short, so that pauses outlast it."""
PERMITS = 3
_CROWD = 1000
"""More readers than there can be: the weight of a writer."""

_MOMENT = SECOND // 16
_LEASE_NS = int(LEASE * SECOND)
_TRUST_NS = int(LEASE * SECOND * 0.99) - 2_000_000


@dataclass(frozen=True)
class Subject:
    """A kind, and what is promised of it.

    `make(client, name)` gives what is acquired; `weight` is how much of the capacity that takes.
    `stays`: it has but one name; `patient`: it may be waited for without a limit.
    """

    kind: str
    make: Callable[[Any, str], Any]
    capacity: int = 1
    weight: int = 1
    sort: type[Held] | None = None
    leased: bool = True
    stays: bool = False
    patient: bool = True

    def of(self, client: Any, name: str) -> Held:
        return (self.sort or Held)(self.make(client, name))

    def name(self, *, of_the_moment: bool) -> str:
        """One that is there for the whole run, or that of this moment."""
        if self.stays or not of_the_moment:
            return self.kind
        return f"{self.kind} {now() // _MOMENT}"


def rest_of_the_moment() -> float:
    """Seconds until the names change.

    Owners come to the new ones together, a few to each, and nobody comes later: so most of what
    happens is what happens first, and whoever sleeps on there is woken by nobody by chance.
    """
    return (_MOMENT - now() % _MOMENT) / SECOND


class Held:
    """What is held by an owner and renewed: the locks."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def acquire(self, timeout: float | None) -> Any:
        return self.thing.acquire(timeout=timeout)

    def release(self, _grant: Any) -> Any:
        return self.thing.release()

    def trusted(self, _called: int, _at: int) -> bool:
        """Whether its owner, who called at `_called` to get it, may trust it at that moment."""
        return not self.thing.lost

    @property
    def token(self) -> int | None:
        return None


class Fenced(Held):
    @property
    def token(self) -> int | None:
        token: int | None = self.thing.token
        return token


class Permits(Held):
    """Permits without a lease: nobody takes them away."""

    def trusted(self, _called: int, _at: int) -> bool:
        return True


class Leased(Held):
    """Permits that expire by themselves, with a fixed lease."""

    def acquire(self, timeout: float | None) -> Any:
        return self.thing.acquire(timeout=timeout, lease=LEASE)

    def release(self, grant: Any) -> Any:
        return self.thing.release(grant)

    def trusted(self, called: int, at: int) -> bool:
        return at < called + _TRUST_NS


SUBJECTS = (
    Subject("lock", lambda client, name: client.lock(name)),
    Subject("fair_lock", lambda client, name: client.fair_lock(name)),
    Subject("fenced_lock", lambda client, name: client.fenced_lock(name), sort=Fenced),
    Subject("spin_lock", lambda client, name: client.spin_lock(name)),
    Subject("read_write_lock", lambda client, name: client.read_write_lock(name).read, _CROWD),
    Subject(
        "read_write_lock",
        lambda client, name: client.read_write_lock(name).write,
        _CROWD,
        weight=_CROWD,
    ),
    Subject(
        "semaphore",
        lambda client, name: client.semaphore(name),
        PERMITS,
        sort=Permits,
        leased=False,
        stays=True,
        patient=False,  # who is killed takes its permit along
    ),
    Subject(
        "permit_semaphore",
        lambda client, name: client.permit_semaphore(name),
        PERMITS,
        sort=Leased,
        stays=True,
    ),
)

RULES = {
    subject.kind: Rule(subject.capacity, _LEASE_NS if subject.leased else None)
    for subject in SUBJECTS
}

MAY_STAY = ("redisson_lock_token:", "semaphore", "permit_semaphore", "{permit_semaphore}")
"""Keys that are there for good begin so: the newest token, the permits."""
MAY_EXPIRE = ("redisson_request:",)
"""Keys that outlive those who made them begin so, if they have a time limit: what was requested."""
LINES = "redisson_lock_queue:"
"""The keys of the fair locks' lines begin so."""
