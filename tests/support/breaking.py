"""Breaks the code on purpose and sees a test of the quick run find it.

A break is found when its test fails. The command ends with 1 if one of them was not found. It
changes the working copy while it runs, so run nothing else there meanwhile. `--list` prints which
test finds which break, and breaks nothing.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.matrix import QUICK

ROOT = Path(__file__).resolve().parents[2]
BUILD = "pip install --quiet --editable ."


@dataclass(frozen=True)
class Break:
    """In `file`, `old` (which is there once) becomes `new`; `test` is red then."""

    #: Identifiers of faults of docs/faults.md.
    faults: tuple[str, ...]
    what: str
    file: str
    edits: tuple[tuple[str, str], ...]
    test: str


@contextmanager
def broken(which: Break) -> Iterator[None]:
    """The working copy with the break in it."""
    path = ROOT / which.file
    whole = path.read_bytes()
    text = whole.decode()
    for old, new in which.edits:
        assert text.count(old) == 1, f"{which.file}: {old!r} is there {text.count(old)} times"
        text = text.replace(old, new)
    try:
        path.write_text(text, encoding="utf-8")
        yield
    finally:
        path.write_bytes(whole)


def is_found(which: Break, build: str, options: list[str]) -> bool:
    """Build with the break, and see its test fail."""
    with broken(which):
        subprocess.run(shlex.split(build), cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-m", QUICK]
        command = [*pytest, which.test, *options]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    # 1: tests were run and failed. Whatever else went wrong proves nothing.
    return result.returncode == 1 and " failed" in result.stdout


def main(breaks: tuple[Break, ...]) -> int:
    """The command: faults of docs/faults.md whose breaks to make, and options of pytest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "faults", nargs="+", help="faults of docs/faults.md or parts of them, or: all"
    )
    parser.add_argument("--list", action="store_true", help="only print which test finds which")
    parser.add_argument("--build", default=BUILD, help=f"how to build; {BUILD!r} unless told")
    arguments, options = parser.parse_known_args()
    wanted = [each for each in breaks if matches(each, arguments.faults)]
    if arguments.list:
        for each in wanted:
            print(f"{', '.join(each.faults)}: {each.what} ({each.file}): {each.test}")
        return 0
    missed = 0
    for each in wanted:
        found = is_found(each, arguments.build, options)
        missed += not found
        verdict = "found" if found else "NOT FOUND"
        print(f"{', '.join(each.faults)}: {each.what}: {verdict} by {each.test}")
        sys.stdout.flush()
    subprocess.run(shlex.split(arguments.build), cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return 1 if missed else 0


def matches(which: Break, wanted: list[str]) -> bool:
    """Whether the break is one of the faults that are wanted, by identifiers or parts of them."""
    return "all" in wanted or any(part in fault for part in wanted for fault in which.faults)


def failed_cpp_tests(which: Break, folder: Path, target: str) -> list[str]:
    """Builds a C++ suite with the break; returns the tests of it that fail."""
    with broken(which):
        build = ["cmake", "--build", str(folder), "--target", target]
        built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
        if built.returncode:
            raise RuntimeError(f"{which.what}: {built.stdout[-2000:]}")
        command = [str(folder / target), f"--gtest_filter={which.test}"]
        try:
            run = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
            )
        except subprocess.TimeoutExpired:
            return ["one that does not end"]
    failed = re.findall(r"^\[  FAILED  \] (\S+)", run.stdout, re.MULTILINE)
    return failed or (["one that crashes"] if run.returncode else [])


def main_of_cpp(breaks: Mapping[str, tuple[Break, ...]], description: str | None) -> int:
    """The command for breaks that a C++ suite finds: by the suite."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "dev")
    parser.add_argument("--only", help="breaks whose description has this text")
    arguments = parser.parse_args()
    missed = 0
    for target, each in ((target, each) for target, some in breaks.items() for each in some):
        if arguments.only and arguments.only not in each.what:
            continue
        found = failed_cpp_tests(each, arguments.folder, target)
        missed += not found
        verdict = f"found by {len(set(found))}, {found[0]}" if found else "NOT FOUND"
        print(f"{each.what}: {verdict}", flush=True)
    return 1 if missed else 0
