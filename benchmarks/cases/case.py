"""What a benchmark is, and what all of them use."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.contender import Contender
from benchmarks.server import Server
from benchmarks.worker import Worker, WorkerFailed

LIMIT_SECONDS = 90.0  # a worker that takes longer has failed
NEVER = 1 << 62  # a moment that does not come


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    repetitions: int
    seconds: float  # each timed window
    rounds: int  # wake-ups
    starts: int  # processes started
    renewal_seconds: float


QUICK = Plan(repetitions=1, seconds=0.5, rounds=50, starts=5, renewal_seconds=3.0)
FULL = Plan(repetitions=3, seconds=1.2, rounds=250, starts=15, renewal_seconds=6.0)


@dataclass(frozen=True)
class Column:
    """One figure of a benchmark; ``compare`` says how it is set beside the base contender's."""

    key: str
    title: str
    digits: int = 0
    compare: str = ""  # "ratio", "difference" or nothing


class Case(ABC):
    """One table: a name, its columns, and how one contender is measured once."""

    name: str
    title: str
    columns: tuple[Column, ...]
    base = "limit"
    quick = True  # is part of a quick run

    @abstractmethod
    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        """The value of each column, from one run on an empty server."""


def worker(server: Server, contender: Contender, mode: str, **words: object) -> Worker:
    """Start a contender in a mode, with what every worker has to know."""
    known = {"mode": mode, "port": server.port, **server.scripts, **words}
    return Worker(contender, LIMIT_SECONDS, **known)


@contextmanager
def placed(server: Server, same: bool) -> Iterator[None]:
    """Give the server one CPU, and whatever is started meanwhile the same one or another."""
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(server.pid, {min(everywhere)})
    os.sched_setaffinity(0, {min(everywhere) if same else max(everywhere)})
    try:
        yield
    finally:
        os.sched_setaffinity(server.pid, everywhere)
        os.sched_setaffinity(0, everywhere)


def pair_samples(server: Server, contender: Contender, plan: Plan, **words: object) -> list[float]:
    """How long each acquire + release of one caller took, in µs."""
    words = {"warmup": contender.warmup, "seconds": plan.seconds, **words}
    with worker(server, contender, "pair", **words) as process:
        process.ready()
        process.go()
        return [ns / 1e3 for ns in process.result()["samples_ns"]]


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that the given percentage of the values does not exceed."""
    if not values:
        raise WorkerFailed("there is not one value to judge by")
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * int(percent) // 100) - 1)]


@dataclass(frozen=True, order=True)
class Grant:
    """One hold, as its holder saw it: moments in ns, and which of the waiters it was."""

    entered: int
    left: int
    waiter: int


def merge_grants(results: Sequence[dict[str, list[list[int]]]]) -> list[Grant]:
    """All holds of one lock in their order; fails if two of them overlap."""
    waiters = [moments for result in results for moments in result["grants"]]
    grants = sorted(
        Grant(entered, left, waiter)
        for waiter, moments in enumerate(waiters)
        for entered, left in zip(moments[::2], moments[1::2], strict=True)
    )
    for before, after in pairwise(grants):
        if after.entered < before.left:
            raise WorkerFailed("two waiters held the lock at the same time")
    return grants


def soon(seconds: float) -> int:
    """The moment the given seconds from now."""
    return time.monotonic_ns() + int(seconds * 1e9)
