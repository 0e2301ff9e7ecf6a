"""The C++ checks: clang-format and clang-tidy, of one version, so that all see the same; lizard."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
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


def check_functions() -> list[str]:
    """Returns the functions that are too long, too complex, or of too many parameters."""
    limits = ["-L", "60", "-C", "15", "-a", "5"]  # ruff has those of Python
    lizard = [sys.executable, "-m", "lizard", "-w", *limits, "-l", "cpp", "-l", "java", "-l", "go"]
    run = command([*lizard, "benchmarks", "cpp", "tests"])
    return run.stdout.splitlines() if run.returncode else []


def check_tidy() -> list[str]:
    """Returns what clang-tidy finds in cpp/; configures a build for its compile commands."""
    configure()
    sources = compiled_sources()
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        runs = list(pool.map(tidy, sources))
    # A header's fault shows up in each file that includes it.
    lines = [line for run in runs if run.returncode for line in run.stdout.splitlines()]
    return list(dict.fromkeys(lines))


def check_thread_safety() -> list[str]:
    """Returns what Clang finds wrong by the annotations of cpp/redis/base/mutex.h."""
    configure()
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        runs = list(pool.map(analyse_locks, sources_with_locks()))
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
    return sorted(compile_commands())


def compile_commands() -> dict[str, list[str]]:
    """Returns the arguments of the compiler, for each source of cpp/."""
    commands = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    ours = [entry for entry in commands if Path(entry["file"]).is_relative_to(tree.ROOT / "cpp")]
    return {entry["file"]: shlex.split(entry["command"]) for entry in ours}


def sources_with_locks() -> list[tuple[str, list[str]]]:
    """Returns the sources of the layers that have a Mutex, with the compiler's arguments."""
    layers = {tree.ROOT / path.parent for path in tree.cpp() if has_lock(tree.ROOT / path)}
    commands = sorted(compile_commands().items())
    return [(path, arguments) for path, arguments in commands if Path(path).parent in layers]


def has_lock(path: Path) -> bool:
    return "Mutex" in path.read_text(encoding="utf-8")


def analyse_locks(source: tuple[str, list[str]]) -> subprocess.CompletedProcess[str]:
    path, arguments = source
    checks = ["-fsyntax-only", "-Wthread-safety", "-Werror=thread-safety"]
    system = [word for pair in pairwise(arguments) if pair[0] == "-isystem" for word in pair]
    usual = [word for word in arguments if word.startswith(("-D", "-I", "-std="))]
    return command([tool("clang++"), *checks, *usual, *system, path])


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
