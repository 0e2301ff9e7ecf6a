"""Counts the instructions of a program by valgrind's callgrind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
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
    """Of one run: the instructions of its process, and how often it did what is counted.

    ``calls``: how often it called each function of ``cpp/``, by the function's name and its file
    without extension; empty for a module without debug information.
    """

    instructions: int
    done: int
    calls: Counter[tuple[str, str]]


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
        text = profile.read_text(errors="replace")
        return Count(total(text), int(run.stdout.split()[0]), calls(text))


def total(profile: str) -> int:
    """All instructions of a profile."""
    found = re.search(r"^(?:summary|totals): (\d+)", profile, re.MULTILINE)
    if found is None:
        msg = "callgrind's profile has no total"
        raise CountFailed(msg)
    return int(found[1])


def calls(profile: str) -> Counter[tuple[str, str]]:
    """The calls of functions whose files are below ``cpp/``.

    A name is written once, with a number that stands for it from then on; files are counted apart
    from functions.
    """
    names: dict[bool, dict[str, str]] = {True: {}, False: {}}  # of functions, and of files
    times: Counter[str] = Counter()
    files: dict[str, str] = {}
    file = callee = ""
    line = r"^(c?f[nlie])=\((\d+)\)(?: (.*))?$|^calls=(\d+)"
    for word, number, name, called in re.findall(line, profile, re.MULTILINE):
        if called:
            times[callee] += int(called)
            continue
        known = names[word.endswith("n")]
        if name:
            known[number] = name.split("'")[0] if word.endswith("n") else name
        if word == "fl":
            file = known[number]
        elif word == "fn":
            files[known[number]] = file
        elif word == "cfn":
            callee = known[number]
    found: Counter[tuple[str, str]] = Counter()
    for function, count in times.items():
        stem = re.search(r"/cpp/(.+)\.(?:h|cpp)$", files.get(function, ""))
        if stem is not None:
            found[function, stem[1]] += count
    return found
