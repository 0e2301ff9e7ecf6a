"""Stops processes, and returns when they are stopped; checks whether this one is."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

from tests.support.waiting import eventually


def halt(pid: int) -> None:
    """SIGSTOP, until every thread is stopped: the signal only requests it."""
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: all(state == "T" for state in _states(pid)))


def others_sleep() -> bool:
    """Whether every thread of this process but the caller's waits for something."""
    states = _states(os.getpid(), but=threading.get_native_id())
    return all(state == "S" for state in states)


def _states(pid: int, but: int | None = None) -> list[str]:
    threads = [path for path in Path(f"/proc/{pid}/task").iterdir() if path.name != str(but)]
    return [state for state in map(_state, threads) if state is not None]


def _state(thread: Path) -> str | None:
    try:
        stat = (thread / "stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return None  # it has ended
    return stat.rpartition(")")[2].split()[0]
