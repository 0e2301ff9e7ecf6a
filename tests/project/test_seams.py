"""What lies beside the library uses its public interface, and the check of that can see."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.lint import seams

ALLOWED = [
    ("holdfast/_lock.py", "from ._names import quoted"),
    ("holdfast/__main__.py", "from holdfast_tools.__main__ import main"),
    ("holdfast/contrib/new.py", "from holdfast.contrib._locks import new_lock"),
    ("holdfast/contrib/new.py", "from holdfast import __version__"),
    ("holdfast_tools/run/held.py", "from ..web._names import shown"),
    ("holdfast_tools/run/held.py", "from holdfast.servers import Deployment"),
    ("holdfast_tools/run/held.py", "import os; os._exit(1)"),
    ("holdfast_pytest/_server.py", "from holdfast_tools.server import Server"),
    ("holdfast_pytest/_server.py", "class Server:\n    _url = ''\n\nprint(Server()._url)"),
]
FORBIDDEN = [
    ("holdfast/_lock.py", "from holdfast_tools.server import Server", "may not import"),
    ("holdfast/_lock.py", "from .contrib._locks import new_lock", "may not import"),
    ("holdfast/_lock.py", "from holdfast import Client", "holdfast.Client belongs to the package"),
    ("holdfast/_lock.py", "def f(): import holdfast", "holdfast belongs to the package"),
    ("holdfast/__main__.py", "from holdfast_tools.server import Server", "may not import"),
    ("holdfast/contrib/new.py", "from holdfast import _core", "holdfast._core is private"),
    (
        "holdfast/contrib/new.py",
        "from .._engine.errors import shown",
        "holdfast._engine.errors.shown is private",
    ),
    ("holdfast_tools/new.py", "import holdfast._core", "holdfast._core is private"),
    (
        "holdfast_tools/new.py",
        "if TYPE_CHECKING: from holdfast._locks.lock import Lock",
        "is private",
    ),
    ("holdfast_tools/new.py", "def f(client): return client._core", "client._core is a private"),
    ("holdfast_pytest/new.py", "from holdfast_tools.cli import _text", "is private"),
]


def tree_with(root: Path, name: str, text: str) -> Path:
    file = root / "python" / name
    file.parent.mkdir(parents=True)
    file.write_text(f"{text}\n")
    return root


def test_nothing_beside_the_library_uses_what_is_private_in_it() -> None:
    assert seams.check() == []


@pytest.mark.parametrize(("name", "text"), ALLOWED)
def test_what_is_public_may_be_imported(tmp_path: Path, name: str, text: str) -> None:
    assert seams.check(tree_with(tmp_path, name, text)) == []


@pytest.mark.parametrize(("name", "text", "reason"), FORBIDDEN)
def test_a_breach_is_named_with_its_place(
    tmp_path: Path, name: str, text: str, reason: str
) -> None:
    [problem] = seams.check(tree_with(tmp_path, name, text))
    assert problem.startswith(f"python/{name}:1: ")
    assert reason in problem
