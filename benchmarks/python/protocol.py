"""The worker protocol in Python; a contender adds only how its locks are opened.

``config`` reads the ``key=value`` words, ``ready`` and ``result`` write the two lines, ``moment``
reads the moment to begin or end at.  The modes are in ``blocking`` and ``tasks``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, fields

now = time.monotonic_ns


@dataclass(frozen=True)
class Config:
    """The words of every mode; a mode reads those it needs."""

    mode: str
    port: int
    ports: str = ""  # several servers, the first of them ``port``: joined by commas
    cluster: int = 0  # 1: they are nodes of one cluster
    kind: str = "lock"  # or fair, read, write, red
    name: str = "bench"
    workers: int = 1
    warmup: float = 0.0
    seconds: float = 1.0
    own: int = 0  # 1: each worker has a separate lock
    grants: int = 0  # how often each worker takes the lock; 0: until the moment given
    hold_us: int = 0
    lease: float = 0.0  # 0: as the contender does by default
    locks: int = 1
    stagger_ms: int = 0
    role: str = "holder"
    rounds: int = 0
    period_us: int = 0
    ask_us: int = 0
    spread_us: int = 0
    releases: str = "awaited"  # or deferred, of holdfast
    loop: str = "asyncio"  # or uvloop: whose event loop runs the tasks

    def servers(self) -> list[int]:
        return [int(port) for port in (self.ports or str(self.port)).split(",")]

    def lock_name(self, worker: int) -> str:
        return f"{self.name}:{worker}" if self.own else self.name


def config() -> Config:
    words = dict(word.split("=", 1) for word in sys.argv[1:])
    types: dict[str, Callable[[str], object]] = {"str": str, "int": int, "float": float}
    given = {field.name: types[str(field.type)] for field in fields(Config) if field.name in words}
    return Config(**{key: kind(words[key]) for key, kind in given.items()})  # type: ignore[arg-type]


def ready() -> None:
    result(ready=True)


def result(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def moment() -> int:
    """Wait for the runner's word to go on, and return the moment that comes with it."""
    line = sys.stdin.readline()
    if not line:
        sys.exit("the runner is gone")
    return int(line)


def sleep_until(moment_ns: int) -> None:
    time.sleep(max(0, moment_ns - now()) / 1e9)
