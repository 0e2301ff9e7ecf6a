"""The calls of all kinds: one row each, and what is promised of every call runs over all of them.

A call acquires, or waits: ``try`` does not wait for an owner, ``wait`` has a time, ``with`` is the
block that waits for the ``wait=`` of its object. The rows are compared with the kinds of the
library: a kind without a row fails a test that says what to add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from holdfast._locks.kinds import BUILT
from holdfast._locks.kinds import KINDS as ENGINES
from tests.contract.kinds import KINDS
from tests.support.actors import Flavour

NAME = "myName"
#: Of a wait in which a server may be stopped.
TIME = 0.5
WAYS = ("try", "wait", "with")

#: What a call does: given the object and the seconds to wait.
Act = Callable[[Any, float], Any]


@dataclass(frozen=True)
class Calling:
    """How the calls of a kind are made.

    `make(client, wait)` makes the object, whose blocks wait so long; `tries` do not wait, `waits`
    do, by name. `stays`: keys that it leaves behind without an expiry, on purpose.
    """

    kind: str
    make: Callable[[Any, float | None], Any]
    tries: dict[str, Act]
    waits: dict[str, Act]
    blocks: bool = True
    stays: tuple[bytes, ...] = ()
    #: How many exchanges a call has, at most: the first one acquires.
    steps: int = 1
    #: How many of them have the caller's time, where not all do: then the command time-out.
    timed: int = 0
    #: The synchronizer that it is a side of.
    part_of: str = ""
    #: Its members have a part of its lease to answer, so it is not for links that are slow.
    hurried: bool = False

    def again(self, client: Any) -> tuple[Any, Callable[[], Any]]:
        """Of another client: the object, and a try by it, for an actor."""
        thing, [act, *_] = self.make(client, None), self.tries.values()
        return thing, partial(act, thing, 0)

    def __repr__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class Call:
    """One call of a kind, in one flavour."""

    of: Calling
    way: str
    name: str

    @property
    def needs_memory(self) -> bool:
        """Whether a server without memory refuses it: no call that reads, or removes first."""
        removes = {"count_down_latch", "permit_semaphore"}
        return self.of.kind not in removes and not self.name.startswith("watch")

    def make(self, client: Any, seconds: float = TIME) -> Any:
        """The object; `seconds`: for which its block waits."""
        return self.of.make(client, 0 if self.name.endswith("with wait=0") else seconds)

    def begin(self, flavour: Flavour, thing: Any, seconds: float = TIME) -> Callable[[], Any]:
        """What an actor is to do: it returns what was granted, and releases nothing."""
        if self.name in {"with", "with wait=0"}:
            return partial(_entered, flavour, thing)
        acts = self.of.tries if self.way == "try" else self.of.waits
        return partial(acts[self.name], thing, seconds)

    def __repr__(self) -> str:
        return f"{self.of.kind}-{self.name}"


def _entered(flavour: Flavour, thing: Any) -> Any:
    if flavour.asyncio:
        return thing.__aenter__()
    return thing.__enter__()


def _acquire(thing: Any, seconds: float) -> Any:
    return thing.acquire(timeout=seconds)


TRIES: dict[str, Act] = {
    "acquire(blocking=False)": lambda thing, _: thing.acquire(blocking=False),
    "acquire(timeout=0)": lambda thing, _: thing.acquire(timeout=0),
}
HOLDS: dict[str, Act] = {"hold(wait=0)": lambda thing, _: thing.hold(wait=0)}
WAITS: dict[str, Act] = {"acquire(timeout)": _acquire}


def _many(thing: Any, seconds: float) -> Any:
    return thing.acquire_many(2, timeout=seconds)


def _lock(kind: Any) -> Calling:
    """The row of a kind of lock, of which the contract of locks has the rest."""
    holds = kind.name not in {"multi_lock", "red_lock"}
    return Calling(
        kind.name,
        lambda client, wait: kind.make(client, NAME, wait=wait),
        TRIES | (HOLDS if holds else {}),
        WAITS | ({"hold(wait)": lambda thing, seconds: thing.hold(wait=seconds)} if holds else {}),
        stays=kind.stays,
        part_of=kind.part_of,
        hurried=kind.hurried,
    )


def _seven() -> int:
    return 7


def _first(leader: Any, seconds: float) -> Any:
    """The first value that an observer gets."""
    seen = leader.watch(timeout=seconds)
    return seen.__anext__() if hasattr(seen, "__anext__") else next(seen)


CALLINGS = (
    *map(_lock, KINDS),
    Calling(
        "semaphore",
        lambda client, wait: client.semaphore(NAME, permits=3, wait=wait),
        TRIES,
        WAITS,
        stays=(NAME.encode(),),
    ),
    Calling(
        "permit_semaphore",
        lambda client, wait: client.permit_semaphore(NAME, permits=3, wait=wait),
        TRIES | {"acquire_many(timeout=0)": lambda thing, _: _many(thing, 0)},
        WAITS | {"acquire_many(timeout)": _many},
        stays=(NAME.encode(), b"{%b}:timeout" % NAME.encode()),
    ),
    Calling(
        "count_down_latch",
        lambda client, _: client.count_down_latch(NAME),
        {"wait(0)": lambda thing, _: thing.wait(0)},
        {"wait(timeout)": lambda thing, seconds: thing.wait(seconds)},
        blocks=False,
    ),
    Calling(
        "leader",
        lambda client, wait: client.leader(NAME, value="me", wait=wait),
        {
            "campaign(0)": lambda thing, _: thing.campaign(0),
            "watch(0)": lambda thing, _: _first(thing, 0),
        },
        {
            "campaign(timeout)": lambda thing, seconds: thing.campaign(seconds),
            "watch(timeout)": _first,
        },
        stays=(b"redisson_lock_token:",),
        steps=2,
    ),
    Calling(
        "slots",
        lambda client, wait: client.slots(NAME, ["a", "b", "c"], wait=wait),
        TRIES,
        WAITS,
        stays=(NAME.encode(), b"{%b}:timeout" % NAME.encode(), b"holdfast_slots:"),
    ),
    Calling(
        "once",
        lambda client, wait: client.once(NAME, wait=wait),
        {"run with wait=0": lambda thing, _: thing.run(_seven)},
        {"run": lambda thing, _: thing.run(_seven)},
        blocks=False,
        steps=4,
        timed=3,
    ),
    Calling(
        "barrier",
        lambda client, _: client.barrier(NAME, 1),
        {"wait(0)": lambda thing, _: thing.wait(0)},
        {"wait(timeout)": lambda thing, seconds: thing.wait(seconds)},
        blocks=False,
        steps=2,
    ),
)


def calls(*ways: str) -> list[Call]:
    """All calls of these ways, of all kinds."""

    def of(row: Calling) -> Iterator[Call]:
        yield from (Call(row, "try", name) for name in row.tries)
        yield from (Call(row, "wait", name) for name in row.waits)
        if row.blocks:
            yield Call(row, "try", "with wait=0")
            yield Call(row, "with", "with")

    return [call for row in CALLINGS for call in of(row) if call.way in (ways or WAYS)]


def missing_rows() -> set[str]:
    """The kinds of the library that have no row."""
    rows = {row.part_of or row.kind for row in CALLINGS}
    return {kind.word for kind in (*ENGINES, *BUILT)} - rows
