"""What a program asks of the kernel: its system calls, by strace, and its threads' sleeps."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.instructions.callgrind import LIMIT, SETTLED, CountFailed

PROGRAM = "strace"
MODULE = "benchmarks.instructions.subject"

#: By which the subject waits for its moment, which is not the client's doing; how often it sleeps
#: so for each thing that it does.
PAUSES = frozenset({"clock_nanosleep"})
PAUSED = {"contended pair": 1}

#: What runs beside a subject, in a process that is not counted.
PARTNERS = {"contended pair": "contended holder"}


@dataclass(frozen=True)
class Count:
    """Of one run."""

    events: int
    done: int


def traces() -> bool:
    """Whether strace is here, and may trace."""
    try:
        return (
            subprocess.run([PROGRAM, "-c", "true"], capture_output=True, check=False).returncode
            == 0
        )
    except FileNotFoundError:
        return False


def calls(what: str, port: int, amount: int) -> Count:
    """The system calls of all threads."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        table = Path(folder, "calls")
        done, _ = _run([PROGRAM, "-f", "-c", "-o", str(table)], what, port, amount)
        return Count(total(table.read_text(encoding="utf-8")), done)


def switches(what: str, port: int, amount: int) -> Count:
    """How often a thread gave up its CPU by itself: it slept, but for the subject's pauses."""
    done, slept = _run([], what, port, amount)
    return Count(slept - PAUSED.get(what, 0) * done, done)


#: What is counted of a subject, and how.
COUNTED = {"calls": calls, "switches": switches}


def per_hundred(what: str, of: str, port: int, amounts: tuple[int, int]) -> int:
    """Of a hundred of ``what``: by a short and a long run."""
    short, long = (COUNTED[of](what, port, amount) for amount in amounts)
    return round(100 * (long.events - short.events) / (long.done - short.done))


def total(table: str) -> int:
    """All calls of strace's table, but for PAUSES."""
    rows = re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$", table, re.MULTILINE)
    if not rows:
        msg = f"strace's table has no rows: {table[:200]}"
        raise CountFailed(msg)
    return sum(int(number) for number, name in rows if name not in {"total", *PAUSES})


def _run(wrapped: Sequence[str], what: str, port: int, amount: int) -> tuple[int, int]:
    """What the subject says, and the voluntary switches of its process."""
    command = [*wrapped, sys.executable, "-m", MODULE, what, str(port), str(amount)]
    with _partner(what, port), tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(
            ["timeout", str(LIMIT), *command], stdout=out, env={**os.environ, **SETTLED}
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            msg = f"{what} ended with {process.returncode}"
            raise CountFailed(msg)
        out.seek(0)
        return int(out.read()), usage.ru_nvcsw


@contextmanager
def _partner(what: str, port: int) -> Iterator[None]:
    if what not in PARTNERS:
        yield
        return
    command = [sys.executable, "-m", MODULE, PARTNERS[what], str(port), "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()
