"""The Python checks: ruff, mypy, pyright and the rules of the checkout."""

from __future__ import annotations

import sys

from tools.lint.cpp import command


def check_ruff() -> list[str]:
    return run("ruff", "check", "--output-format=concise")


def check_ruff_format() -> list[str]:
    return run("ruff", "format", "--diff")


def check_mypy() -> list[str]:
    return run("mypy")


def check_pyright() -> list[str]:
    """What users of pyright would see, in the package and in its stub."""
    return run("pyright", "--pythonpath", sys.executable)


def check_project() -> list[str]:
    """What the rules of the checkout say, which are written as tests; of a passing run, nothing."""
    return run("pytest", "-q", "-n", "0", "--tb=short", "tests/project")


def run(module: str, *arguments: str) -> list[str]:
    """Runs a tool of this interpreter's environment; returns its lines when it is not content."""
    result = command([sys.executable, "-m", module, *arguments])
    warnings = [line for line in result.stdout.splitlines() if line.startswith("warning: ")]
    return warnings if result.returncode == 0 else result.stdout.splitlines()
