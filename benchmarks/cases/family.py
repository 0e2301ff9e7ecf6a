"""The other kinds of lock, beside the plain one: alone, over several servers, many readers."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.cases.case import (
    NEVER,
    Case,
    Column,
    Plan,
    pair_samples,
    percentile,
    placed,
    worker,
)
from benchmarks.contender import Contender
from benchmarks.relay import Relay
from benchmarks.server import Monitor, Server

READERS = 200
READ_US = 10_000
AWAY_MS = 1.0

BESIDE = (
    Column("plain", "plain lock p50 µs", 0),
    Column("p50", "p50 µs", 0, "ratio"),
    Column("ratio", "× plain lock", 2),
)


def beside(plain: list[float], other: list[float]) -> dict[str, float]:
    """What the columns BESIDE tell of two sets of samples."""
    figures = {"plain": percentile(plain, 50), "p50": percentile(other, 50)}
    return {**figures, "ratio": figures["p50"] / figures["plain"]}


class KindPair(Case):
    """A kind's pair and the plain lock's, one after the other, all on the server's CPU."""

    columns = BESIDE
    base = "redisson"

    def __init__(self, name: str, title: str, kind: str) -> None:
        self.name = name
        self.title = title
        self._kind = kind

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        with placed(server, True):
            plain = pair_samples(server, contender, plan)
            return beside(plain, pair_samples(server, contender, plan, kind=self._kind))


class RedPair(Case):
    """A RedLock over five servers and the plain lock of one, wherever the system places them."""

    columns = BESIDE

    def __init__(self, name: str, title: str, away_ms: float = 0.0) -> None:
        self.name = name
        self.title = title
        self._away_ms = away_ms

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        with ExitStack() as stack:
            others = [stack.enter_context(Server(server.program)) for _ in range(4)]
            ports = [each.port for each in (server, *others)]
            if self._away_ms:
                ports = stack.enter_context(Relay(ports, self._away_ms)).ports
            plain = pair_samples(server, contender, plan, port=ports[0])
            words = {"kind": "red", "port": ports[0], "ports": ",".join(map(str, ports))}
            return beside(plain, pair_samples(server, contender, plan, **words))


class Readers(Case):
    """All wait for a writer; it releases, and each reads once for 10 ms."""

    name = "readers"
    title = "200 readers of one process wait for a writer in another: release called → in"
    columns = (Column("p50", "the 100th ms", 1, "ratio"), Column("last", "the last ms", 1, "ratio"))
    base = "redisson"

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        words = {"workers": READERS, "grants": 1, "hold_us": READ_US, "kind": "read"}
        with (
            worker(server, contender, "hold", kind="write") as writer,
            worker(server, contender, "contend", **words) as readers,
        ):
            writer.ready()
            readers.ready()
            readers.go(NEVER)
            monitor = Monitor(server.port)
            monitor.settle()
            monitor.close()
            writer.go()
            released = writer.result()["released_ns"]
            entered = [moments[0] for moments in readers.result()["grants"]]
        delays = [(moment - released) / 1e6 for moment in entered]
        return {"p50": percentile(delays, 50), "last": max(delays)}
