"""The layers of Python, and that the checks which hold them can see."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tools.lint import imports, tree

pytest.importorskip("importlinter", reason="it is of the group lint, as the check")

#: A file of python/, a line for it, and what the lint step `imports` says of it.
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
    ("holdfast/observe.py", "from holdfast_tools.server import Server", "built on it"),
    ("holdfast/__main__.py", "from holdfast_tools.server import Server", "built on it"),
    ("holdfast/_locks/lock.py", "from ..contrib._locks import new_lock", "is not allowed"),
    ("holdfast/_locks/lock.py", "from holdfast import Client", "holdfast.Client belongs"),
    ("holdfast/observe.py", "from . import Client", "holdfast.Client belongs"),
    ("holdfast/_locks/lock.py", "def f(): import holdfast", "holdfast belongs to the package"),
    ("holdfast/contrib/new.py", "from .._engine.errors import shown", "public modules only"),
    (
        "holdfast_tools/new.py",
        "if TYPE_CHECKING: from holdfast._locks.lock import Lock",
        "public modules only",
    ),
]
#: The same for ruff.
PRIVATE = [
    ("holdfast/contrib/new.py", "from holdfast import _core", "banned-api"),
    ("holdfast/contrib/new.py", "from .. import _core", "banned-api"),
    ("holdfast_tools/new.py", "import holdfast._core", "banned-api"),
    ("holdfast_tools/new.py", "def f(client): return client._core", "private-member-access"),
    ("holdfast_pytest/new.py", "from holdfast_tools.cli import _text", "import-private-name"),
]
ALLOWED = [
    ("holdfast/contrib/new.py", "from holdfast.contrib._locks import new_lock"),
    ("holdfast/contrib/new.py", "from holdfast import __version__"),
    ("holdfast/_locks/new.py", "from .. import _core"),
    ("holdfast_tools/run/held.py", "from ..web._names import shown"),
    ("holdfast_tools/run/held.py", "import os; os._exit(1)"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        tree.ROOT / "python", root / "python", ignore=shutil.ignore_patterns("__pycache__", "*.so")
    )
    shutil.copy(tree.ROOT / "pyproject.toml", root)
    return root


@contextmanager
def with_line(root: Path, name: str, line: str) -> Iterator[Path]:
    file = root / "python" / name
    text = file.read_text() if file.exists() else None
    file.write_text(f"{text or ''}\n{line}\n")
    try:
        yield file
    finally:
        file.write_text(text) if text is not None else file.unlink()


@pytest.mark.parametrize(("name", "line", "named"), FORBIDDEN)
def test_a_breach_is_named(copy: Path, name: str, line: str, named: str) -> None:
    with with_line(copy, name, line):
        said = "\n".join(imports.check(copy))
    assert "BROKEN" in said or "not listed" in said or "which is built on it" in said
    assert named in said, said


def private_names(root: Path, file: Path) -> str:
    ruff = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--no-cache",
        "--select",
        "PLC2701,SLF001,TID251",
    ]
    run = subprocess.run([*ruff, str(file)], cwd=root, capture_output=True, text=True, check=False)
    return run.stdout


@pytest.mark.parametrize(("name", "line", "rule"), PRIVATE)
def test_a_private_name_of_another_package_is_named(
    copy: Path, name: str, line: str, rule: str
) -> None:
    with with_line(copy, name, line) as file:
        assert rule in private_names(copy, file)


@pytest.mark.parametrize(("name", "line"), ALLOWED)
def test_what_is_public_or_of_the_same_package_may_be_used(
    copy: Path, name: str, line: str
) -> None:
    with with_line(copy, name, line) as file:
        assert "All checks passed" in private_names(copy, file)
        assert imports.check(copy) == []
