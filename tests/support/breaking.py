"""Breaks the code on purpose, one place at a time, and sees a test find it.

    python -m tests.support.breaking all                  # break, build, run the test, put it back
    python -m tests.support.breaking lost-reply --list    # those of a fault of docs/faults.md
    python -m tests.support.breaking calls guard records  # those that these C++ suites find
    python -m tests.support.breaking tests/deployments --build "ninja -C build/dev" --servers redis

A break is found when its test fails. The command ends with 1 if one of them was not found. It
changes the working copy while it runs, so run nothing else there meanwhile. Breaks are chosen by
`all`, by what finds them, by identifier, by a part of a fault's, or by the folder of their tests.
`all` leaves out those of `nogil`, which need a Python without a GIL.

The breaks are in tests/faults/breaks: `[identifier] what is broken`, the faults of docs/faults.md,
the test, and edits. `@` names a file by as much of its path as no other file has; the `-` lines are
there once, and become the `+` lines. A test is a test of pytest, `nogil:` and one, a key of SUITES,
a C++ suite with its filter, or `interleavings:` and who waits: threads or tasks.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.support.matrix import QUICK

ROOT = Path(__file__).resolve().parents[2]
BREAKS = ROOT / "tests" / "faults" / "breaks"
BROKEN = ("cmake", "cpp", "lua", "python")
BUILD = "pip install --quiet --editable ."
SUITES = {
    "calls": "test_locks:*CallTest*:*QueryTest*:*DeferredHoldReleaseTest*:*UnwrittenReleaseTest*"
    ":SeveralPermitsTest.*:*AcquireLife*:*AcquireByItsOwner*:AcquireAfterAReleaseTest.*"
    ":AcquireOfAThreadTest.*",
    "guard": "test_guard:*",
    "records": "test_locks:*HeldRecordsTest*",
}


class Edit(NamedTuple):
    """In `file`, a part of a path, `old` (which is there once) becomes `new`."""

    file: str
    old: str
    new: str


class Break(NamedTuple):
    """With all its edits made, `test` is red."""

    name: str
    what: str
    faults: tuple[str, ...]
    test: str
    edits: tuple[Edit, ...]

    @property
    def finder(self) -> str:
        """What runs the test: `pytest`, `nogil`, `interleavings`, or a C++ suite."""
        head = self.test.partition(":")[0]
        return "pytest" if "/" in head else head

    def is_wanted(self, words: list[str]) -> bool:
        """Whether one of the words chooses it."""
        if "all" in words:
            return self.finder != "nogil"
        return any(
            word in {self.name, self.finder}
            or self.test.startswith(f"{word.rstrip('/')}/")
            or any(word in fault for fault in self.faults)
            for word in words
        )


@cache
def all_breaks() -> tuple[Break, ...]:
    """Returns every break, in the order of the files."""
    return tuple(
        each for path in sorted(BREAKS.glob("*.txt")) for each in read(path.read_text("utf-8"))
    )


def read(text: str) -> Iterator[Break]:
    """Reads the breaks of one file; raises ValueError for a line that is none of them."""
    for block in re.split(r"\n(?=\[)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)):
        if not block.strip():
            continue
        head, *lines = block.rstrip("\n").split("\n")
        found = re.fullmatch(r"\[([a-z\d-]+)\] (.+)", head)
        if found is None:
            raise ValueError(f"no head of a break: {head!r}")
        fields: dict[str, str] = {"faults": "", "test": ""}
        while lines and not lines[0].startswith("@"):
            key, _, fields[key] = lines.pop(0).partition(": ")
        faults = tuple(filter(None, fields["faults"].split(", ")))
        yield Break(found[1], found[2], faults, fields["test"], tuple(edits(lines)))


def edits(lines: list[str]) -> Iterator[Edit]:
    """Reads the edits of one break."""
    file, old, new = "", [], []
    for line in [*lines, "@"]:
        mark, rest = line[:1], line[2:]
        if mark not in {"@", "-", "+"}:
            raise ValueError(f"no line of an edit: {line!r}")
        if new and mark in {"@", "-"}:
            yield Edit(file, "\n".join(old), "\n".join(new))
            old, new = [], []
        if mark == "@":
            file = rest
        else:
            (old if mark == "-" else new).append(rest)


@cache
def _files() -> tuple[str, ...]:
    paths = (path for folder in BROKEN for path in (ROOT / folder).rglob("*") if path.is_file())
    return tuple(path.relative_to(ROOT).as_posix() for path in paths)


def path_of(file: str) -> Path:
    """Returns the one file whose path ends with this; raises LookupError for none or several."""
    found = [each for each in _files() if f"/{each}".endswith(f"/{file}")]
    if len(found) != 1:
        raise LookupError(f"{file!r} is {' and '.join(found) or 'no file'} of {', '.join(BROKEN)}")
    return ROOT / found[0]


def edited(which: Break) -> dict[Path, str]:
    """Returns the files that a break changes, with their texts; raises LookupError if it cannot."""
    texts: dict[Path, str] = {}
    for edit in which.edits:
        path = path_of(edit.file)
        text = texts.get(path) or path.read_text(encoding="utf-8")
        if text.count(edit.old) != 1:
            raise LookupError(f"{path.name}: {edit.old!r} is there {text.count(edit.old)} times")
        texts[path] = text.replace(edit.old, edit.new)
    return texts


@contextmanager
def broken(which: Break) -> Iterator[None]:
    """The working copy with the break in it."""
    texts = edited(which)
    whole = {path: path.read_bytes() for path in texts}
    try:
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        yield
    finally:
        for path, before in whole.items():
            path.write_bytes(before)


def found_by_pytest(which: Break, build: str, options: list[str]) -> str:
    """Builds with the break; returns which test fails, or nothing."""
    test = which.test.removeprefix("nogil:")
    subprocess.run(shlex.split(build), cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-m", QUICK, test, *options]
    result = subprocess.run(pytest, cwd=ROOT, capture_output=True, text=True, check=False)
    # 1: tests were run and failed. Whatever else went wrong proves nothing.
    return test if result.returncode == 1 and " failed" in result.stdout else ""


def found_by_suite(which: Break, folder: Path, count: int) -> str:
    """Builds a C++ suite with the break; returns by what it is found, or nothing."""
    suite, _, chosen = SUITES.get(which.test, which.test).partition(":")
    variables, seconds = dict(os.environ), 60.0
    if suite == "interleavings":
        suite, chosen = "test_interleavings", f"*NoneLeaks*/{chosen}"
        variables.update(HOLDFAST_SIM_SEED="1", HOLDFAST_SIM_COUNT=str(count))
        seconds = 24 * 3600.0
    build = ["cmake", "--build", str(folder), "--target", suite]
    built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    if built.returncode:
        raise RuntimeError(f"{which.what}: {built.stdout[-2000:]}")
    output = subprocess.PIPE
    command = [str(folder / suite), f"--gtest_filter={chosen}"]
    try:
        run = subprocess.run(
            command, env=variables, stdout=output, stderr=output, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return "one that does not end"
    said = (run.stdout + run.stderr).decode(errors="replace")
    if suite == "test_interleavings":
        seed = re.search(r"HOLDFAST_SIM_SEED=(\d+)", said)
        return f"scenario {seed[1]}" if run.returncode and seed else ""
    failed = sorted(set(re.findall(r"^\[  FAILED  \] (\w\S+)", said, re.MULTILINE)))
    if failed:
        return f"{len(failed)}, {failed[0]}"
    return "one that crashes" if run.returncode else ""


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wanted", nargs="+", help="which breaks, or: all")
    parser.add_argument("--list", action="store_true", help="only print which test finds which")
    parser.add_argument("--build", default=BUILD, help=f"for pytest; {BUILD!r} if not given")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "dev", help="of C++ tests")
    parser.add_argument("--count", type=int, default=100_000, help="scenarios of interleavings")
    given, options = parser.parse_known_args()
    wanted = [each for each in all_breaks() if each.is_wanted(given.wanted)]
    if given.list:
        for each in wanted:
            print(f"{each.name}: {', '.join(each.faults)}: {each.what}: {each.test}")
        return 0
    if not wanted:
        parser.error(f"no break is one of {', '.join(given.wanted)}")
    missed = 0
    for each in wanted:
        by_pytest = each.finder in {"pytest", "nogil"}
        with broken(each):
            found = (
                found_by_pytest(each, given.build, options)
                if by_pytest
                else found_by_suite(each, given.folder, given.count)
            )
        missed += not found
        print(f"{each.name}: {each.what}: {f'found by {found}' if found else 'NOT FOUND'}")
        sys.stdout.flush()
    if any(each.finder in {"pytest", "nogil"} for each in wanted):
        subprocess.run(shlex.split(given.build), cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
