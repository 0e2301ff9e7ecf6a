"""The size rules: short files, short and simple functions, few parameters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.lint import tree

FILE_LINES = 600
FUNCTION_LINES = 60
COMPLEXITY = 15
PARAMETERS = 5
MEASURED = {".c", ".cpp", ".h", ".py", ".java", ".go"}


def check(root: Path = tree.ROOT) -> list[str]:
    """Returns one line for each file or function that is too large."""
    return long_files(root) + large_functions(root)


def long_files(root: Path) -> list[str]:
    problems = []
    for path in tree.code(root):
        lines = len((root / path).read_text(encoding="utf-8").splitlines())
        if lines > FILE_LINES:
            problems.append(f"{path}: {lines} lines, at most {FILE_LINES}")
    return problems


def large_functions(root: Path) -> list[str]:
    """Asks lizard. Python's parameters are left to ruff, which tells keyword-only ones apart."""
    measured = [path for path in tree.code(root) if path.suffix in MEASURED]
    python = [str(path) for path in measured if path.suffix == ".py"]
    others = [str(path) for path in measured if path.suffix != ".py"]
    return lizard(root, python) + lizard(root, others, "-a", str(PARAMETERS))


def lizard(root: Path, paths: list[str], *options: str) -> list[str]:
    if not paths:
        return []
    limits = ["-w", "-L", str(FUNCTION_LINES), "-C", str(COMPLEXITY), *options]
    command = [sys.executable, "-m", "lizard", *limits, *paths]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if run.returncode not in {0, 1} or run.stderr:
        return [f"lizard failed: {run.stderr or run.stdout}"]
    return run.stdout.splitlines()
