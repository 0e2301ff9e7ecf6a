"""The layers of python/, by the contracts of import-linter in pyproject.toml.

A module of the library imports only what lies below it, and no modules lead back to each other.
Imports inside functions and those for type checkers alone count: a name is known where it is used.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.lint import tree

#: The finder of an editable install, an object among classes, would find the tree that it has.
PROGRAM = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if isinstance(finder, type)]
sys.path.insert(0, "python")
from importlinter.cli import lint_imports_command
lint_imports_command(["--no-logo", "--no-cache"])
"""


def check(root: Path = tree.ROOT) -> list[str]:
    """Returns what import-linter says of broken contracts."""
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).splitlines()
    return [line for line in said if line.strip()] if done.returncode else []
