"""``python -m benchmarks.instructions.counting``: what the figures of ``stats()`` cost a pair.

Builds the package a second time, from a copy in which the engine counts nothing, and compares the
instructions of a ``with lock:`` without contention.  More than 300 for counting end it with 1.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.instructions import callgrind
from benchmarks.instructions.__main__ import AMOUNTS, TRIES, say
from benchmarks.server import Server

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 300

#: Kept, so that a second run compiles only what has changed.
FOLDER = ROOT / "build/counting"

#: What counts, by file, and the same without counting; the clock is read for a figure only there.
EDITS = (
    ("cpp/redis/base/stats.h", r"\{ mine\(\)\.add\(counter, amount\); \}",
     "{ (void)counter; (void)amount; }"),
    ("cpp/redis/base/stats.cpp", r"\{ mine\(\)\.add\(timing, time\); \}",
     "{ (void)timing; (void)time; }"),
    ("cpp/redis/base/stats.cpp",
     r"(void Stats::granted\(bool) contended, (Duration) took\) \{.*?\n\}",
     r"\1, \2) {}"),
    ("cpp/redis/base/stats.cpp",
     r"(void Stats::held_for\(Duration) after\) \{.*?\n\}", r"\1) {}"),
    ("cpp/locks/lease/releases.cpp", r"count_end\(\*hold, clock_\.now\(\)\);", ""),
)  # fmt: skip


def build() -> callgrind.Subject:
    """Install the package that counts nothing, with a Python that imports no other."""
    source, package = FOLDER / "source", FOLDER / "package"
    shutil.rmtree(package, ignore_errors=True)
    copy_to(source)
    for name, pattern, replacement in EDITS:
        text, places = re.subn(pattern, replacement, read(source / name), flags=re.DOTALL)
        if places != 1:
            sys.exit(f"{name}: {places} places fit {pattern!r}, not one: bring EDITS up to date")
        (source / name).write_text(text, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--target", str(package), str(source)], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", FOLDER / "venv"], check=True)
    return callgrind.Subject(str(FOLDER / "venv/bin/python"), str(package))


def copy_to(source: Path) -> None:
    """The files of the checkout as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def pair(port: int, subject: callgrind.Subject) -> int:
    """The least instructions for a pair of some measurements."""
    found = []
    for _ in range(TRIES):
        short, long = (callgrind.count("pair", port, n, subject=subject) for n in AMOUNTS["pair"])
        found.append(round((long.instructions - short.instructions) / (long.done - short.done)))
    return min(found)


def main() -> int:
    other = build()
    with Server() as server:
        before = pair(server.port, other)
        after = pair(server.port, callgrind.Subject())
    say(f"a pair takes {before} instructions without counting and {after} with it")
    say(f"counting: {after - before} instructions; at most {LIMIT} are allowed")
    return int(after - before > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
