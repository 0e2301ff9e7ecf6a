"""The C++ checks: clang-format and clang-tidy, of one version, so that all see the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.lint import tree

VERSION = 14
BUILD = tree.ROOT / "build" / "lint"


def check_format() -> list[str]:
    """Returns what clang-format would change."""
    files = [str(path) for path in tree.cpp()]
    if not files:
        return []
    run = command([tool("clang-format"), "--dry-run", "-Werror", *files])
    if run.returncode == 0:
        return []
    return [line for line in run.stdout.splitlines() if ": error: " in line] or [run.stdout]


def check_tidy() -> list[str]:
    """Returns what clang-tidy finds in cpp/; configures a build for its compile commands."""
    configure()
    sources = compiled_sources()
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        runs = list(pool.map(tidy, sources))
    # A header's fault shows up in each file that includes it.
    lines = [line for run in runs if run.returncode for line in run.stdout.splitlines()]
    return list(dict.fromkeys(lines))


def configure() -> None:
    """Makes the compile commands of engine and bindings, and the generated header."""
    preset = ["cmake", "--preset", "dev", "-B", str(BUILD), "-DHOLDFAST_BUILD_TESTS=OFF"]
    python = ["-DHOLDFAST_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}"]
    for step in ([*preset, *python], ["cmake", "--build", str(BUILD), "--target", "lua_scripts"]):
        run = command(step)
        if run.returncode:
            raise RuntimeError(run.stdout)


def compiled_sources() -> list[str]:
    commands = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    ours = tree.ROOT / "cpp"
    return sorted(entry["file"] for entry in commands if Path(entry["file"]).is_relative_to(ours))


def tidy(source: str) -> subprocess.CompletedProcess[str]:
    return command([tool("clang-tidy"), "--quiet", "-p", str(BUILD), source])


def tool(name: str) -> str:
    """Returns the name of the pinned tool; raises where it is not installed."""
    pinned = f"{name}-{VERSION}"
    if shutil.which(pinned) is None:
        raise RuntimeError(f"{pinned} is not installed (Debian's package of that name has it)")
    return pinned


def command(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs in the project's folder; errors and results come out in one stream."""
    return subprocess.run(
        arguments,
        cwd=tree.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
