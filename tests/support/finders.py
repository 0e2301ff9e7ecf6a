"""Which C++ test files find which planted break: the matrix, and what it says.

    python -m tests.support.finders measure [BREAK...]  # where it is not measured yet, and keeps it
    python -m tests.support.finders who BREAK...        # the files that find these, soonest first
    python -m tests.support.finders idle                # files that never are the first to find one

A measurement breaks the code (see breaking.py), builds, and runs each test file until its first red
test; a file that is red twice has found the break. It can be interrupted: each break is a line of
tests/faults/matrix/found.jsonl as soon as it is measured, and a line counts as long as the break's
edits are the same. It changes the working copy meanwhile, so it wants a checkout for itself. Each
file runs unbroken first: what is red there finds nothing.

The files are those of the executables test_*, with 20 seeds of the simulation and 20,000 schedules
of the interleavings. The mutants of mutants.py count as breaks that no test is named for.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import time
from collections import Counter, defaultdict
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from tests.support.breaking import ROOT, Break, all_breaks, broken
from tests.support.mutants import all_mutants

DATA = ROOT / "tests" / "faults" / "matrix" / "found.jsonl"
FOLDER = ROOT / "build" / "finders"
PRESET = ("cmake", "--preset", "dev", "-B", str(FOLDER), "-D", "HOLDFAST_WERROR=OFF")
FAST = ("-D", "CMAKE_CXX_FLAGS_DEBUG=-O0", "-D", "CMAKE_EXE_LINKER_FLAGS=-fuse-ld=gold")
SEEDS = {"HOLDFAST_SIM_COUNT": "20"}
SCHEDULES = {"HOLDFAST_SIM_COUNT": "20000", "HOLDFAST_SIM_SEED": "1"}
BOUND = 30.0
"""Seconds after which a C++ file that has not ended has found a break."""
NONE = "none"
"""The name under which the unbroken run is kept."""

Seconds = dict[str, float]


def edits_of(each: Break) -> str:
    """A short sum of what a break changes."""
    return hashlib.sha256(repr(each.edits).encode()).hexdigest()[:12]


def measured() -> dict[str, dict[str, Any]]:
    """Returns what was measured, by break; the last line counts."""
    lines = DATA.read_text("utf-8").splitlines() if DATA.exists() else []
    return {row["break"]: row for row in map(json.loads, lines)}


def keep(row: dict[str, Any]) -> None:
    """Adds a line to what was measured."""
    with DATA.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def built() -> bool:
    """Whether the C++ tests could be built."""
    command = ["cmake", "--build", str(FOLDER), "--parallel", "2"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


@cache
def test_files() -> dict[str, tuple[Path, str]]:
    """Returns for each test file its executable, and the filter that is its tests."""
    found: dict[str, tuple[Path, str]] = {}
    for program in sorted(FOLDER.glob("test_*")):
        if program.suffix or not os.access(program, os.X_OK):
            continue
        listed = FOLDER / f"{program.name}.json"
        command = [str(program), "--gtest_list_tests", f"--gtest_output=json:{listed}"]
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        tests = defaultdict(list)
        for suite in json.loads(listed.read_text("utf-8"))["testsuites"]:
            for test in suite["testsuite"]:
                file = (FOLDER / test["file"]).resolve().relative_to(ROOT).as_posix()
                name = file + (" (portable futex)" if "portable" in program.name else "")
                tests[name].append(f"{suite['name']}.{test['name']}")
        found.update((file, (program, ":".join(names))) for file, names in tests.items())
    return found


def run(file: str) -> tuple[bool, float]:
    """Runs a test file until its first red test; returns whether one is, and the seconds."""
    program, chosen = test_files()[file]
    command = [str(program), f"--gtest_filter={chosen}", "--gtest_fail_fast"]
    seeds = SCHEDULES if program.name == "test_interleavings" else SEEDS
    began = time.monotonic()
    try:
        code = subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | seeds,
            capture_output=True,
            timeout=BOUND,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        code = -1
    return code != 0, round(time.monotonic() - began, 2)


def measure(wanted: list[Break]) -> None:
    """Runs the test files against each of these breaks."""
    subprocess.run([*PRESET, *FAST], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    if not built():
        raise SystemExit(f"{FOLDER}: the C++ tests do not build")
    whole = {file: run(file) for file in test_files()}
    usual = {file: seconds for file, (red, seconds) in whole.items() if not red}
    keep({"break": NONE, "edits": "", "seconds": usual})
    for each in wanted:
        row: dict[str, Any] = {"break": each.name, "edits": edits_of(each), "ran": 0, "found": {}}
        with broken(each):
            if built():
                row["ran"] = len(usual)
                for file in usual:
                    red, seconds = run(file)
                    if red and run(file)[0]:
                        row["found"][file] = seconds
        keep(row)
        print(f"{each.name}: {said(row)}", flush=True)


def said(row: dict[str, Any] | None) -> str:
    """What was measured of a break, in words."""
    if row is None:
        return "not measured"
    return f"{len(row['found'])} of {row['ran']} files" if row["ran"] else "it does not build"


def who(wanted: list[Break]) -> None:
    """Prints what finds each of these breaks."""
    rows = measured()
    for each in wanted:
        row = rows.get(each.name)
        print(f"{each.name}: {each.what}: {said(row)}; its test is {each.test or 'none'}")
        found: Seconds = row["found"] if row else {}
        for file, seconds in sorted(found.items(), key=itemgetter(1)):
            print(f"    {seconds:7.2f} s  {file}")


def idle() -> None:
    """Prints the files that never are the first to find a break, the slowest first."""
    rows = measured()
    finds: Counter[str] = Counter()
    first: set[str] = set()
    for row in rows.values():
        found: Seconds = row.get("found", {})
        finds.update(found.keys())
        first.update(sorted(found, key=found.__getitem__)[:1])
    print(f"of {sum('found' in row for row in rows.values())} breaks\nfinds  seconds  lines  file")
    whole: Seconds = rows[NONE]["seconds"]
    for file, seconds in sorted(whole.items(), key=itemgetter(1), reverse=True):
        path = ROOT / file.partition(" ")[0]
        if file not in first and path.exists():
            lines = len(path.read_text("utf-8").splitlines())
            print(f"{finds[file]:5}  {seconds:7.2f}  {lines:5}  {file}")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("measure", "who", "idle"))
    parser.add_argument("breaks", nargs="*", help="words as of breaking.py; all if none is given")
    given = parser.parse_args()
    wanted = [
        each
        for each in (*all_breaks(), *all_mutants())
        if each.is_wanted(given.breaks or ["all"])
        and any(edit.file.endswith((".cpp", ".h", ".lua")) for edit in each.edits)
    ]
    if given.command == "who":
        who(wanted)
    elif given.command == "idle":
        idle()
    else:
        rows = measured()
        measure([each for each in wanted if rows.get(each.name, {}).get("edits") != edits_of(each)])


if __name__ == "__main__":
    main()
