"""The layers of python/, by the contracts of import-linter in pyproject.toml.

A module of the library imports only what lies below it, and no modules lead back to each other.
What lies beside the library, as ``holdfast_tools``, imports its public modules only; ruff finds
private names (PLC2701, SLF001, TID251). Imports inside functions and those for type checkers alone
count: a name is known where it is used. The package ``holdfast`` itself is built on its modules: of
it they import ``_core`` only, which import-linter cannot see, as it is compiled.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
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
LIBRARY = Path("python/holdfast")


def check(root: Path = tree.ROOT) -> list[str]:
    """Returns what import-linter says of broken contracts, and imports of the package itself."""
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).splitlines()
    found = [line for line in said if line.strip()] if done.returncode else []
    return found + [
        f"{path.relative_to(root)}:{line}: {name} belongs to the package, which is built on it"
        for path in sorted((root / LIBRARY).rglob("*.py"))
        if path != root / LIBRARY / "__init__.py"
        and not path.is_relative_to(root / LIBRARY / "contrib")
        for line, name in of_package_itself(path, root / LIBRARY)
    ]


def of_package_itself(path: Path, library: Path) -> Iterator[tuple[int, str]]:
    """Yields what a module imports of ``holdfast`` that is no module of it, with its lines."""
    depth = len(path.relative_to(library).parts)
    modules = {each.stem for each in library.iterdir()} | {"_core"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names if each.name == "holdfast"]
        elif isinstance(node, ast.ImportFrom) and (
            (node.level == 0 and node.module == "holdfast")
            or (node.level == depth and node.module is None)
        ):
            names = [f"holdfast.{each.name}" for each in node.names if each.name not in modules]
        else:
            continue
        yield from ((node.lineno, name) for name in names)
