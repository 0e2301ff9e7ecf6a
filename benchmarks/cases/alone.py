"""Locks without contention: one caller's latency, many callers' throughput."""

from __future__ import annotations

from benchmarks.cases.case import Case, Column, Plan, pair_samples, percentile, placed, worker
from benchmarks.contender import Contender
from benchmarks.server import Server


class Pair(Case):
    """The caller has one CPU, the server's or another: left to chance, that triples a figure."""

    columns = (
        Column("p50", "p50 µs", 0, "ratio"),
        Column("p99", "p99 µs", 0, "ratio"),
    )

    def __init__(self, name: str, title: str, same_cpu: bool) -> None:
        self.name = name
        self.title = title
        self._same_cpu = same_cpu

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        with placed(server, self._same_cpu):
            samples = pair_samples(server, contender, plan)
        return {"p50": percentile(samples, 50), "p99": percentile(samples, 99)}


class Throughput(Case):
    columns = (Column("pairs", "pairs/s", 0, "ratio"),)

    def __init__(self, name: str, title: str, workers: int) -> None:
        self.name = name
        self.title = title
        self._workers = workers

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        words = {"workers": self._workers, "warmup": contender.warmup, "seconds": plan.seconds}
        with worker(server, contender, "throughput", **words) as process:
            process.ready()
            process.go()
            result = process.result()
        return {"pairs": result["pairs"] / result["seconds"]}
