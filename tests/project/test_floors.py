"""The layer rule of the library's Python, and that the check which holds it can see."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.lint import floors

ALLOWED = [
    ("_engine/errors.py", "from .. import _core"),
    ("_engine/errors.py", "import re"),
    ("_locks/task_lock.py", "from holdfast._locks.base import BaseLock"),
    ("_locks/task_lock.py", "from holdfast._engine.loop import request"),
    ("servers.py", "from ._clients.base import BaseClient"),
]
FORBIDDEN = [
    ("_engine/errors.py", "from holdfast._locks.lock import Lock", "_locks.lock"),
    ("_engine/errors.py", "if TYPE_CHECKING: from .._locks.lock import Lock", "_locks.lock"),
    ("_engine/errors.py", "def f(): from holdfast._locks import lock", "_locks.lock"),
    ("_engine/errors.py", "from holdfast import Client", "holdfast"),
    ("_locks/threads.py", "from .semaphores import Semaphore", "_locks.semaphores"),
    ("_locks/lock.py", "from holdfast._engine import loop", "_engine.loop"),
]


def tree_with(root: Path, name: str, text: str) -> Path:
    file = root / "python" / "holdfast" / name
    file.parent.mkdir(parents=True)
    file.write_text(f"{text}\n")
    return root


def test_no_module_imports_what_lies_above_it() -> None:
    assert floors.check() == []


@pytest.mark.parametrize(("name", "text"), ALLOWED)
def test_what_lies_below_may_be_imported(tmp_path: Path, name: str, text: str) -> None:
    assert floors.check(tree_with(tmp_path, name, text)) == []


@pytest.mark.parametrize(("name", "text", "above"), FORBIDDEN)
def test_a_breach_is_named(tmp_path: Path, name: str, text: str, above: str) -> None:
    [problem] = floors.check(tree_with(tmp_path, name, text))
    assert problem == f"python/holdfast/{name}: {above} is not on a lower floor"


def test_a_module_without_a_floor_is_named(tmp_path: Path) -> None:
    [problem] = floors.check(tree_with(tmp_path, "_extra.py", "import re"))
    assert problem == "python/holdfast/_extra.py: holdfast._extra is on no floor"


def test_a_circle_of_the_tools_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "python" / "holdfast_tools"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("from . import b\n")
    (folder / "b.py").write_text("from .c import see\n")
    (folder / "c.py").write_text("import holdfast_tools.d\n")
    assert floors.check(tmp_path) == []
    (folder / "c.py").write_text("def see(): import holdfast_tools.a\n")
    circle = [f"python/holdfast_tools/{name}.py: imports itself in a circle" for name in "abc"]
    assert floors.check(tmp_path) == circle
