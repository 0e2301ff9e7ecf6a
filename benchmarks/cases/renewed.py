"""Many locks held at once, each renewed every third of its lease."""

from __future__ import annotations

import os
import time
from pathlib import Path

from benchmarks.cases.case import Case, Column, Plan, worker
from benchmarks.contender import Contender
from benchmarks.server import Server
from benchmarks.worker import WorkerFailed

LEASE = 3.0
QUICK_LOCKS = 10_000
PROCESS_CPU_CLOCK = 2  # of the clock that Linux has for each process


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and all its threads so far."""
    return time.clock_gettime((~pid << 3) | PROCESS_CPU_CLOCK)


def resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Watchdog(Case):
    columns = (
        Column("lost", "locks lost"),
        Column("cpu", "client CPU s per 100 000 renewals", 3, "ratio"),
        Column("server", "the server's", 3, "ratio"),
        Column("memory", "bytes per lock"),
        Column("threads", "threads"),
        Column("rate", "renewals/s"),
    )

    def __init__(self, name: str, title: str, locks: int) -> None:
        self.name = name
        self.title = title
        self._locks = locks
        self.quick = locks <= QUICK_LOCKS

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        words = {"locks": self._locks, "lease": LEASE}
        with worker(server, contender, "watchdog", **words) as process:
            process.ready()
            resident = resident_bytes(process.pid)
            process.go()
            process.result()
            pids = (process.pid, server.pid)
            before, renewals = [cpu_seconds(pid) for pid in pids], self._renewals(server)
            time.sleep(plan.renewal_seconds)
            client, own = (cpu_seconds(pid) - was for pid, was in zip(pids, before, strict=True))
            renewed = self._renewals(server) - renewals
            if not renewed:
                raise WorkerFailed("not one renewal came")
            return {
                "lost": self._locks - len(server.key_names()),
                "cpu": client / renewed * 100_000,
                "server": own / renewed * 100_000,
                "memory": (resident_bytes(process.pid) - resident) / self._locks,
                "threads": len(list(Path(f"/proc/{process.pid}/task").iterdir())),
                "rate": renewed / plan.renewal_seconds,
            }

    @staticmethod
    def _renewals(server: Server) -> int:
        return server.calls("pexpire", "pexpireat")
