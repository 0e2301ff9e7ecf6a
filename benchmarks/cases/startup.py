"""From the start of a process to its first lock held and released."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from statistics import median

from benchmarks.builders import HERE
from benchmarks.cases.case import Case, Column, Plan
from benchmarks.contender import Contender
from benchmarks.server import Server
from benchmarks.worker import WorkerFailed

PROGRAM = HERE / "python" / "startup.py"


class Startup(Case):
    name = "startup"
    title = "From the start of a process to its first lock held and released"
    columns = (
        Column("time", "ms", 0, "difference"),
        Column("memory", "peak MB", 1, "difference"),
    )
    base = "bare interpreter"

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        argv = [sys.executable, str(PROGRAM), str(server.port), contender.name]
        environment = {**os.environ, **contender.environment}
        times, peaks = [], []
        for _ in range(plan.starts):
            begin = time.monotonic_ns()
            done = subprocess.run(
                argv, env=environment, check=False, capture_output=True, text=True
            )
            if done.returncode:
                raise WorkerFailed(done.stderr.strip().splitlines()[-1])
            moment, peak = done.stdout.split()
            times.append((int(moment) - begin) / 1e6)
            peaks.append(int(peak) / 1024)
        return {"time": median(times), "memory": median(peaks)}
