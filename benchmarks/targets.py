"""What holdfast sets out to reach, each against a figure of the same run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.results import Results

PEERS = ("redis-py", "python-redis-lock", "rueidislock", "redsync", "redisson")
BEST_PEER = "the best peer"


@dataclass(frozen=True)
class Target:
    """``column`` of a benchmark is to be at most (``<=``) or at least (``>=``) the bound.

    The bound is ``factor`` times the figure of ``of``, or ``factor`` itself where ``of`` is empty;
    ``plus`` takes ``factor`` as a distance from that figure instead.
    """

    case: str
    column: str
    sign: str
    factor: float
    of: str = ""
    contender: str = "holdfast"
    plus: bool = False

    def text(self) -> str:
        sign = {"<=": "≤", ">=": "≥"}[self.sign]
        if not self.of:
            return f"{sign} {self.factor:g}"
        operation = f"{self.of} + {self.factor:g}" if self.plus else f"{self.factor:g} × {self.of}"
        return f"{sign} {operation}"

    def bound(self, results: Results) -> float | None:
        if not self.of:
            return self.factor
        names = PEERS if self.of == BEST_PEER else (self.of,)
        found = [results.value(self.case, name, self.column) for name in names]
        known = [value for value in found if value is not None]
        if not known:
            return None
        best = min(known) if self.sign == "<=" else max(known)
        return best + self.factor if self.plus else best * self.factor


@dataclass(frozen=True)
class Verdict:
    target: Target
    value: float
    bound: float

    @property
    def reached(self) -> bool:
        if self.target.sign == "<=":
            return self.value <= self.bound
        return self.value >= self.bound


TARGETS = (
    Target("pair", "p50", "<=", 1.08, "limit"),
    Target("pair", "p50", "<=", 0.5, "redis-py"),
    Target("pair", "p50", "<=", 1, BEST_PEER),
    Target("pair", "p50", "<=", 0.75, "limit", "holdfast deferred"),
    Target("pair-apart", "p50", "<=", 1.05, "limit"),
    Target("pair-apart", "p50", "<=", 0.6, "limit", "holdfast deferred"),
    Target("pair-apart", "p50", "<=", 0.5, "redis-py"),
    Target("pair-apart", "p50", "<=", 1, BEST_PEER),
    Target("task", "p50", "<=", 1.35, "limit", "holdfast asyncio"),
    Target("task", "p50", "<=", 1.15, "limit", "holdfast uvloop"),
    Target("pair-asyncio", "p50", "<=", 1.15, "limit", "holdfast asyncio"),
    Target("pair-asyncio", "p50", "<=", 1.05, "limit", "holdfast uvloop"),
    Target("threads", "pairs", ">=", 1, "rueidislock"),
    Target("tasks", "pairs", ">=", 0.45, "limit", "holdfast asyncio"),
    Target("tasks", "pairs", ">=", 1.6, "rueidislock", "holdfast asyncio"),
    Target("wake", "p50", "<=", 1.15, "limit"),
    Target("wake", "p99", "<=", 1.3, "limit"),
    Target("dead-holder", "worst", "<=", 20),
    Target("hand-over-threads", "changes", ">=", 6, BEST_PEER),
    Target("hand-over-threads", "spread", "<=", 3),
    Target("hand-over-processes", "changes", ">=", 2.5, BEST_PEER),
    Target("hand-over-processes", "changes", ">=", 1.2, "limit"),
    Target("hand-over-processes", "spread", "<=", 3),
    Target("hand-over-processes-8", "changes", ">=", 1, "limit"),
    Target("crowd-threads", "commands", "<=", 3),
    Target("crowd-threads", "idle", "<=", 0),
    Target("crowd-threads", "stretch", "<=", 1.3),
    Target("crowd-processes", "commands", "<=", 3),
    Target("crowd-processes", "idle", "<=", 0),
    Target("crowd-processes", "stretch", "<=", 1.2),
    Target("watchdog-10k", "lost", "<=", 0),
    Target("watchdog-10k", "cpu", "<=", 4, "limit"),
    Target("watchdog-10k", "server", "<=", 1.1, "redisson"),
    Target("watchdog-10k", "memory", "<=", 1024),
    Target("watchdog-100k", "lost", "<=", 0),
    Target("watchdog-100k", "cpu", "<=", 2.5, "limit"),
    Target("watchdog-100k", "server", "<=", 1.1, "redisson"),
    Target("watchdog-100k", "memory", "<=", 1024),
    Target("startup", "time", "<=", 25, "bare interpreter", plus=True),
    Target("startup", "time", "<=", 0.4, "redis-py"),
    Target("startup", "memory", "<=", 12, "bare interpreter", plus=True),
    Target("pair-fair", "ratio", "<=", 1.3),
    Target("pair-read", "ratio", "<=", 1.1),
    Target("pair-semaphore", "ratio", "<=", 1.2),
    Target("pair-multi", "ratio", "<=", 1.5),
    Target("pair-red", "ratio", "<=", 1.6),
    Target("pair-red", "p50", "<=", 1.6, "limit"),
    Target("pair-red-away", "ratio", "<=", 1.6),
    Target("hand-over-fair", "changes", ">=", 3, "redisson"),
    Target("readers", "last", "<=", 5),
    Target("readers", "last", "<=", 5, contender="holdfast asyncio"),
    Target("pair-cluster", "ratio", "<=", 1.15),
    Target("watchdog-cluster", "lost", "<=", 0),
    Target("watchdog-cluster", "commands", "<=", 3),
    Target("failover", "after", "<=", 1000),
    Target("scale-nodes", "ratio", ">=", 1.5),
)


def verdicts(results: Results) -> Iterator[Verdict]:
    """One for each target whose figures this run has."""
    for target in TARGETS:
        value = results.value(target.case, target.contender, target.column)
        bound = target.bound(results)
        if value is not None and bound is not None:
            yield Verdict(target, value, bound)
