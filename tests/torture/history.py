"""The calls of owners and their results, as lines in a file of each worker, read by the run.

A line is written in one piece before or after what it tells of, so a killed worker's file ends
with what it was at. Times are nanoseconds since boot: one clock for all processes.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SECOND = 1_000_000_000


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


@dataclass(frozen=True)
class Entry:
    """One line. `operation` is a number that is the worker's own."""

    at: int
    worker: str
    operation: int
    event: str
    """`call`, `return`, `trusted`: the owner could still trust what `operation` gave it, or `lost`:
    it had lost that."""
    what: str = ""
    """Of a call: `acquire`, `release`, or `wait` and `meet`, which take nothing to be released."""
    owner: str = ""
    subject: str = ""
    weight: int = 1
    timeout: float | None = None
    lease: float | None = None
    """Of a call: that of what it takes, if that is not renewed."""
    way: str = ""
    """Of a call: in which way its caller leaves, or passes it on. What it has is then left to its
    lease, also by a guard."""
    of: int = 0
    """Of the call of a release: the operation that acquired."""
    result: str = ""
    """Of a return: `granted`, `refused`, `done`, `cancelled`, or the name of an error."""
    why: str = ""
    """Of a return with an error: its message."""
    token: int | None = None
    part: int | None = None
    """Of a return: the number of the slot, or of the party."""


class Log:
    """The file of one worker; any thread may write."""

    def __init__(self, path: Path, worker: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._worker = worker
        self._numbers = itertools.count(1)

    def call(self, what: str, **details: Any) -> int:
        """Something is about to be called; the number of the operation."""
        number = next(self._numbers)
        self._write(Entry(now(), self._worker, number, "call", what, **details))
        return number

    def returned(
        self, number: int, result: str, token: int | None = None, part: int | None = None
    ) -> None:
        entry = Entry(now(), self._worker, number, "return", result=result, token=token, part=part)
        self._write(entry)

    def failed(self, number: int, result: str, why: str) -> None:
        """The call has raised an error: its word and its message."""
        self._write(Entry(now(), self._worker, number, "return", result=result, why=why))

    def trusted(self, number: int, at: int) -> None:
        """At that moment, taken before the owner looked, the grant was trusted."""
        self._write(Entry(at, self._worker, number, "trusted"))

    def lost(self, number: int) -> None:
        """The owner has found the grant lost."""
        self._write(Entry(now(), self._worker, number, "lost"))

    def _write(self, entry: Entry) -> None:
        values = {name: value for name, value in asdict(entry).items() if value not in {"", None}}
        os.write(self._file, json.dumps(values).encode() + b"\n")


def read(paths: Iterable[Path]) -> list[Entry]:
    """All lines of all workers, in the order of time, but for what a dying worker half wrote."""
    lines = (line for path in paths for line in path.read_bytes().splitlines(keepends=True))
    entries = [Entry(**json.loads(line)) for line in lines if line.endswith(b"\n")]
    return sorted(entries, key=lambda entry: entry.at)
