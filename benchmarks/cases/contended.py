"""One lock that many want: hand-overs, and a crowd of waiters."""

from __future__ import annotations

import math
import time
from collections import Counter
from contextlib import ExitStack
from itertools import pairwise

from benchmarks.cases.case import NEVER, Case, Column, Grant, Plan, merge_grants, soon, worker
from benchmarks.contender import Contender
from benchmarks.server import Monitor, Server

CROWD = 200
HOLD_US = 1000


class HandOver(Case):
    """Nothing is done under the lock; taking it twice in a row does not count."""

    columns = (
        Column("changes", "hand-overs/s", 0, "ratio"),
        Column("grants", "grants/s", 0),
        Column("spread", "busiest : idlest", 1),
    )

    def __init__(
        self, name: str, title: str, processes: int, threads: int, *, kind: str = "lock"
    ) -> None:
        self.name = name
        self.title = title
        self._processes = processes
        self._threads = threads
        self._kind = kind
        if kind != "lock":
            self.base = "redisson"

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        words = {"workers": self._threads, "kind": self._kind}
        with ExitStack() as stack:
            processes = [
                stack.enter_context(worker(server, contender, "contend", **words))
                for _ in range(self._processes)
            ]
            for process in processes:
                process.ready()
            until = soon(contender.warmup + plan.seconds)
            for process in processes:
                process.go(until)
            grants = merge_grants([process.result() for process in processes])
        begin = until - int(plan.seconds * 1e9)
        return self._judge([grant for grant in grants if begin <= grant.entered < until], plan)

    def _judge(self, grants: list[Grant], plan: Plan) -> dict[str, float]:
        changes = sum(before.waiter != after.waiter for before, after in pairwise(grants))
        counts = Counter(grant.waiter for grant in grants)
        everybody = len(counts) == self._processes * self._threads
        return {
            "changes": changes / plan.seconds,
            "grants": len(grants) / plan.seconds,
            "spread": max(counts.values()) / min(counts.values()) if everybody else math.inf,
        }


class Crowd(Case):
    """All wait for a first holder; it releases, and each holds the lock once for 1 ms."""

    columns = (
        Column("commands", "commands per acquisition", 1),
        Column("idle", "commands/s while nothing changes"),
        Column("stretch", "total : sum of the holds", 2),
    )

    def __init__(self, name: str, title: str, processes: int) -> None:
        self.name = name
        self.title = title
        self._processes = processes

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        threads = CROWD // self._processes
        words = {"workers": threads, "grants": 1, "hold_us": HOLD_US}
        with ExitStack() as stack:
            holder = stack.enter_context(worker(server, contender, "hold"))
            processes = [
                stack.enter_context(worker(server, contender, "contend", **words))
                for _ in range(self._processes)
            ]
            for process in (holder, *processes):
                process.ready()
            monitor = Monitor(server.port)
            stack.callback(monitor.close)
            for process in processes:
                process.go(NEVER)
            queueing = monitor.settle()
            time.sleep(1)
            idle = monitor.drain()
            holder.go()
            grants = merge_grants([process.result() for process in processes])
            total = grants[-1].left - holder.result()["released_ns"]
            commands = monitor.drain() + (0 if contender.polls else queueing)
        return {
            "commands": commands / CROWD,
            "idle": idle,
            "stretch": total / sum(grant.left - grant.entered for grant in grants),
        }
