"""The layer rule of the library's Python, and that the check which holds it can see."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.lint import floors

ALLOWED = [
    ("_names.py", "from . import _core"),
    ("_names.py", "import re"),
    ("asyncio/_lock.py", "from holdfast._base_lock import BaseLock"),
    ("asyncio/_lock.py", "from ._loop import request"),
    ("servers.py", "from ._base_client import BaseClient"),
]
FORBIDDEN = [
    ("_names.py", "from ._lock import Lock", "_lock is not on a lower floor"),
    ("_names.py", "if TYPE_CHECKING: from ._lock import Lock", "_lock is not on a lower floor"),
    ("_names.py", "def f(): from . import _lock", "_lock is not on a lower floor"),
    ("_names.py", "from holdfast import Client", "holdfast is not on a lower floor"),
    ("_fair_lock.py", "from ._spin_lock import SpinLock", "_spin_lock is not on a lower floor"),
    ("_lock.py", "from .asyncio import _loop", "asyncio._loop is not on a lower floor"),
    ("_extra.py", "import re", "holdfast._extra is on no floor"),
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


@pytest.mark.parametrize(("name", "text", "reason"), FORBIDDEN)
def test_a_breach_is_named(tmp_path: Path, name: str, text: str, reason: str) -> None:
    [problem] = floors.check(tree_with(tmp_path, name, text))
    assert problem == f"python/holdfast/{name}: {reason}"


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
