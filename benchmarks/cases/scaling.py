"""How a figure grows with callers, processes, cluster nodes and waiters: a column for each size."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from benchmarks.cases.case import NEVER, Case, Column, Plan, merge_grants, worker
from benchmarks.cases.clustered import words_for
from benchmarks.cluster import Cluster
from benchmarks.contender import Contender
from benchmarks.server import Monitor, Server

CLIENTS = (1, 2, 4, 8, 16, 32)
PROCESSES = (1, 2, 4, 8)
NODES = (1, 2, 3)
CLUSTER_PROCESSES = 8
CLUSTER_THREADS = 8  # of each process
WAITERS = (1, 10, 100, 1000, 10_000)
PAGE_KB = os.sysconf("SC_PAGE_SIZE") / 1024


def pairs_of_processes(
    server: Server, contender: Contender, plan: Plan, processes: int, **words: object
) -> float:
    """The pairs of all processes in a second, each thread with a separate lock."""
    words = {"warmup": contender.warmup, "seconds": plan.seconds, **words}
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                worker(server, contender, "throughput", name=f"bench-{number}", **words)
            )
            for number in range(processes)
        ]
        for process in started:
            process.ready()
        for process in started:
            process.go()
        results = [process.result() for process in started]
    return float(sum(result["pairs"] / result["seconds"] for result in results))


class Scaling(Case):
    """One figure at several sizes; its picture shows how it grows."""

    def __init__(self, sizes: tuple[int, ...], unit: str) -> None:
        self.columns = tuple(Column(str(size), f"{size:,}".replace(",", " ")) for size in sizes)
        self.sizes = sizes
        self.unit = unit


class ClientScaling(Scaling):
    name = "scale-threads"
    title = "Pairs/s of 1 to 32 threads of one process, each with a separate lock"

    def __init__(self) -> None:
        super().__init__(CLIENTS, "pairs/s, by threads")

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        return {
            str(size): pairs_of_processes(server, contender, plan, 1, workers=size)
            for size in self.sizes
        }


class ProcessScaling(Scaling):
    name = "scale-processes"
    title = "Pairs/s of 1 to 8 processes of one thread, each with a separate lock"

    def __init__(self) -> None:
        super().__init__(PROCESSES, "pairs/s, by processes")

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        return {str(size): pairs_of_processes(server, contender, plan, size) for size in self.sizes}


class NodeScaling(Scaling):
    """The machine's CPUs are the bound where there are no more of them than nodes."""

    name = "scale-nodes"
    title = "Pairs/s of 8 processes of 8 threads, by the primaries of a cluster"

    def __init__(self) -> None:
        super().__init__(NODES, "pairs/s, by primaries")
        self.columns += (Column("ratio", f"{NODES[-1]} : {NODES[0]}", 2),)

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        values = {}
        for size in self.sizes:
            with Cluster(server.program, primaries=size) as cluster:
                values[str(size)] = pairs_of_processes(
                    server,
                    contender,
                    plan,
                    CLUSTER_PROCESSES,
                    workers=CLUSTER_THREADS,
                    **words_for(cluster),
                )
        return {**values, "ratio": values[str(NODES[-1])] / values[str(NODES[0])]}


class WaiterScaling(Scaling):
    """All wait for a first holder; it releases, and each holds the lock once."""

    def __init__(self, name: str, title: str, processes: int) -> None:
        super().__init__(WAITERS[1:] if processes > 1 else WAITERS, "µs a hand-over, by waiters")
        self.name = name
        self.title = title
        self._processes = processes
        self.columns += (
            Column("commands", f"commands a hand-over, {WAITERS[-1]:,}".replace(",", " "), 2),
            Column("memory", f"KB a waiter, {WAITERS[-1]:,}".replace(",", " "), 1),
        )

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        del plan
        values: dict[str, float] = {}
        for size in self.sizes:
            values |= self._queue(server, contender, size)
        return values

    def _queue(self, server: Server, contender: Contender, waiters: int) -> dict[str, float]:
        processes = min(self._processes, waiters)
        with ExitStack() as stack:
            holder = stack.enter_context(worker(server, contender, "hold"))
            holder.ready()
            started = [
                stack.enter_context(
                    worker(server, contender, "contend", workers=waiters // processes, grants=1)
                )
                for _ in range(processes)
            ]
            for process in started:
                process.ready()
            before = sum(resident_kb(process.pid) for process in started)
            monitor = Monitor(server.port)
            stack.callback(monitor.close)
            for process in started:
                process.go(NEVER)
            monitor.settle(limit=10.0)
            queued = sum(resident_kb(process.pid) for process in started)
            holder.go()
            grants = merge_grants([process.result() for process in started])
            total = grants[-1].entered - holder.result()["released_ns"]
            commands = monitor.drain()
        return {
            str(waiters): total / len(grants) / 1e3,
            "commands": commands / len(grants),
            "memory": (queued - before) / len(grants),
        }


def resident_kb(pid: int) -> float:
    """The memory of a process that is in use now."""
    fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * PAGE_KB
