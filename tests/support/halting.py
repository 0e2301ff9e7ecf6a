"""Stops processes, and returns when they stand still."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.support.waiting import eventually


def halt(pid: int) -> None:
    """SIGSTOP, until every thread stands still: the signal only asks for it."""
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: all(state == "T" for state in _states(pid)))


def _states(pid: int) -> list[str]:
    stats = [stat.read_text(encoding="utf-8") for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
    return [stat.rpartition(")")[2].split()[0] for stat in stats]
