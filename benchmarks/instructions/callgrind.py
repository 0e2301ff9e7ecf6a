"""Counts the instructions of a program by valgrind's callgrind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

PROGRAM = "valgrind"
LIMIT = 120  # seconds of one run

#: What would make two runs differ.
SETTLED = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}


class CountFailed(Exception):
    """The program, or valgrind, ended with an error."""


@dataclass(frozen=True)
class Subject:
    """A Python, and the folder of the packages that it imports beside its own."""

    python: str = sys.executable
    packages: str = ""
    module: str = "benchmarks.instructions.subject"
    bytecode: str = ""  # where it is, if not beside the sources

    @property
    def environment(self) -> dict[str, str]:
        """What its process needs in addition."""
        given = {"PYTHONPATH": self.packages, "PYTHONPYCACHEPREFIX": self.bytecode}
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True)
class Count:
    """Of one run: the instructions of its process, and how often it did what is counted."""

    instructions: int
    done: int


def count(
    what: str, port: int, amount: int, keep: Path | None = None, *, subject: Subject | None = None
) -> Count:
    """Run ``subject`` once under callgrind; ``keep``: the file for its profile."""
    subject = subject or Subject()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        profile = Path(folder, "callgrind.out") if keep is None else keep
        command = [
            PROGRAM, "--tool=callgrind", f"--callgrind-out-file={profile}", "--quiet",
            subject.python, "-m", subject.module, what, str(port), str(amount),
        ]  # fmt: skip
        try:
            run = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
                env={**os.environ, **SETTLED, **subject.environment},
            )
        except subprocess.TimeoutExpired as late:
            msg = f"{what}: no end after {LIMIT} s under {PROGRAM}"
            raise CountFailed(msg) from late
        if run.returncode != 0:
            msg = f"{what} ended with {run.returncode} under {PROGRAM}: {run.stderr[-2000:]}"
            raise CountFailed(msg)
        return Count(total(profile.read_text(errors="replace")), int(run.stdout.split()[0]))


def total(profile: str) -> int:
    """All instructions of a profile."""
    found = re.search(r"^(?:summary|totals): (\d+)", profile, re.MULTILINE)
    if found is None:
        msg = "callgrind's profile has no total"
        raise CountFailed(msg)
    return int(found[1])
