"""How soon a waiter has the lock: after a release in another process, after the holder's death."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.cases.case import NEVER, Case, Column, Plan, percentile, soon, worker
from benchmarks.contender import Contender
from benchmarks.server import Server

DEAD_LOCKS = 10
DEAD_LEASE = 2.0


@dataclass(frozen=True)
class Timetable:
    """Of one round, in µs: the holder's turn, the waiter's request, the spread of releases."""

    period_us: int
    ask_us: int
    spread_us: int


PUSHED = Timetable(period_us=20_000, ask_us=4_000, spread_us=4_000)
POLLED = Timetable(period_us=250_000, ask_us=10_000, spread_us=100_000)


class Wake(Case):
    name = "wake"
    title = "Release called in one process → acquired in another that waited"
    columns = (
        Column("p50", "p50 µs", 0, "ratio"),
        Column("p99", "p99 µs", 0, "ratio"),
    )

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        table = POLLED if contender.polls else PUSHED
        rounds = plan.rounds // (5 if contender.polls else 1)
        skipped = int(contender.warmup * 1e6 / table.period_us)
        words = {**vars(table), "rounds": rounds + skipped}
        with (
            worker(server, contender, "wake", role="holder", **words) as holder,
            worker(server, contender, "wake", role="waiter", **words) as waiter,
        ):
            holder.ready()
            waiter.ready()
            start = soon(0.1)
            holder.go(start)
            waiter.go(start)
            held, waited = holder.result(), waiter.result()
        delays = self._delays(held, waited)[skipped:]
        return {"p50": percentile(delays, 50), "p99": percentile(delays, 99)}

    @staticmethod
    def _delays(held: dict[str, list[int]], waited: dict[str, list[int]]) -> list[float]:
        """In µs; only of rounds in which the waiter did ask while the holder held."""
        rounds = zip(held["begun"], waited["begun"], held["done"], waited["done"], strict=True)
        return [
            (acquired - released) / 1e3
            for taken, asked, released, acquired in rounds
            if taken < asked < released - 1_000_000 and acquired > released
        ]


class DeadHolder(Case):
    name = "dead-holder"
    title = "The holder is killed: end of its lease → acquired by a waiter"
    columns = (Column("p50", "p50 ms", 1), Column("worst", "worst ms", 1))

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        words = {"own": 1, "lease": DEAD_LEASE}
        holding = {**words, "locks": DEAD_LOCKS, "stagger_ms": 40}
        waiting = {**words, "workers": DEAD_LOCKS, "grants": 1}
        with (
            worker(server, contender, "contend", **waiting) as waiter,
            worker(server, contender, "hold", **holding) as holder,
        ):
            waiter.ready()
            holder.ready()
            holder.kill()
            ends = {key.rsplit(":", 1)[1]: server.expiry(key) for key in server.key_names()}
            waiter.go(NEVER)
            grants = waiter.result()["grants"]
        delays = [(moments[0] - ends[str(i)]) / 1e6 for i, moments in enumerate(grants)]
        return {"p50": percentile(delays, 50), "worst": max(delays)}
