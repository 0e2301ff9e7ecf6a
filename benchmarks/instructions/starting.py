"""What ``import holdfast`` costs a process that has its bytecode."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.instructions.callgrind import SETTLED, Subject, count


def instructions(keep: Path | None, subject: Subject | None = None) -> int:
    """In user mode."""
    with compiled(subject) as ready:
        bare, imported = (count("import", 0, amount, keep, subject=ready) for amount in (0, 1))
    return imported.instructions - bare.instructions


def kilobytes(subject: Subject | None = None) -> int:
    """By which the most memory that the process ever had grows."""
    with compiled(subject) as ready:
        bare, imported = (run(ready, amount) for amount in (0, 1))
    return imported - bare


@contextmanager
def compiled(subject: Subject | None) -> Iterator[Subject]:
    """The same, with the bytecode of all that it imports."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        ready = replace(
            subject or Subject(), module="benchmarks.instructions.start", bytecode=folder
        )
        run(ready, 1, writes="")
        yield ready


def run(subject: Subject, amount: int, writes: str = "1") -> int:
    """The process's most memory, in KB."""
    command = [subject.python, "-m", subject.module, "import", "0", str(amount)]
    environment = {**os.environ, **SETTLED, "PYTHONDONTWRITEBYTECODE": writes}
    done = subprocess.run(
        command,
        env={**environment, **subject.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout.split()[1])
