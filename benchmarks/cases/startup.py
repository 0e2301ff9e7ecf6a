"""From the start of a process to its first lock held and released."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from statistics import median
from tempfile import TemporaryDirectory

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
        with TemporaryDirectory(prefix="holdfast-bench-") as bytecode:
            settings = {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
            environment = {**os.environ, **contender.environment, **settings}
            start(argv, environment)  # writes the bytecode, as an installation does
            starts = [start(argv, environment) for _ in range(plan.starts)]
        times, peaks = zip(*starts, strict=True)
        return {"time": median(times), "memory": median(peaks)}


def start(argv: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """The ms that one process took, and its peak in MB."""
    begin = time.monotonic_ns()
    done = subprocess.run(argv, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise WorkerFailed(done.stderr.strip().splitlines()[-1])
    moment, peak = done.stdout.split()
    return (int(moment) - begin) / 1e6, int(peak) / 1024
