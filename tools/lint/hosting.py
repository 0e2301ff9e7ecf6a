"""The checks of what others run: the workflows of the hosting service, and the container."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.lint import tree
from tools.lint.cpp import command


def check_workflows(root: Path = tree.ROOT) -> list[str]:
    """What zizmor finds, without asking the service: actions without a hash, tokens that stay."""
    return run("zizmor", "--offline", "--no-progress", "--color=never", str(root / ".github"))


def check_container(root: Path = tree.ROOT) -> list[str]:
    return run("hadolint", "--no-color", str(root / "tools" / "Containerfile"))


def run(tool: str, *arguments: str) -> list[str]:
    """Runs a program of this interpreter's environment; returns its lines when it failed."""
    program = Path(sys.executable).with_name(tool)
    if not program.is_file():
        raise RuntimeError(f"{tool} is not installed (pip install --group lint, with pip 25.1)")
    result = command([str(program), *arguments])
    return [] if result.returncode == 0 else result.stdout.splitlines()
