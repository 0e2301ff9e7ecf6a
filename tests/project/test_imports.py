"""The layers of Python, and that the check which holds them can see."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.lint import imports, tree

pytest.importorskip("importlinter", reason="it is of the group lint, as the check")

#: A file of python/, a line for it, and the import that the check names.
FORBIDDEN = [
    ("holdfast/_engine/errors.py", "import holdfast._locks.lock", "_engine is not allowed"),
    (
        "holdfast/_locks/lock.py",
        "def f(): from .._clients import base",
        "holdfast._locks is not allowed to import holdfast._clients",
    ),
    ("holdfast/_locks/fields.py", "from holdfast._locks import lock", "No modules lead back"),
    ("holdfast/servers.py", "import holdfast.inspect", "holdfast.servers is not allowed"),
    ("holdfast/_extra.py", "import re", "_extra"),
    ("holdfast_tools/bench.py", "import holdfast_tools.cli", "No modules lead back"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        tree.ROOT / "python", root / "python", ignore=shutil.ignore_patterns("__pycache__", "*.so")
    )
    shutil.copy(tree.ROOT / "pyproject.toml", root)
    return root


def test_no_module_imports_what_lies_above_it() -> None:
    assert imports.check() == []


@pytest.mark.parametrize(("name", "line", "named"), FORBIDDEN)
def test_a_breach_is_named(copy: Path, name: str, line: str, named: str) -> None:
    file = copy / "python" / name
    text = file.read_text() if file.exists() else None
    file.write_text(f"{text or ''}\n{line}\n")
    try:
        said = "\n".join(imports.check(copy))
    finally:
        file.write_text(text) if text is not None else file.unlink()
    assert "BROKEN" in said or "not listed" in said
    assert named in said, said
