"""The stub of the native module names what the module has, and nothing else."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import holdfast
import holdfast.asyncio
from holdfast import _core
from holdfast._clients import options as _options
from holdfast._engine import arguments as _keywords

STUB = ast.parse((Path(holdfast.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))


def declared(body: list[ast.stmt]) -> set[str]:
    """The public names that a part of the stub declares."""
    names = set()
    for statement in body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef):
            names.add(statement.name)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            names.add(statement.target.id)
    return {name for name in names if not name.startswith("_")}


def public(thing: Any) -> set[str]:
    return {name for name in vars(thing) if not name.startswith("_")}


CLASSES = [
    statement
    for statement in STUB.body
    if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_")
]


def test_the_module() -> None:
    assert declared(STUB.body) == public(_core)


@pytest.mark.parametrize("stub", CLASSES, ids=lambda stub: stub.name)
def test_a_class(stub: ast.ClassDef) -> None:
    assert declared(stub.body) == public(getattr(_core, stub.name))


def test_nothing_for_type_checkers_is_imported_at_run_time() -> None:
    """typing_extensions is no dependency: only type checkers may look for it."""
    sources = Path(holdfast.__file__).parent.rglob("*.py")
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sources}
    eager = [
        path.name
        for path, tree in trees.items()
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom) and statement.module == "typing_extensions"
    ]
    assert trees
    assert eager == []


@pytest.mark.parametrize(
    "client", [holdfast.Client, holdfast.asyncio.Client], ids=["threads", "tasks"]
)
def test_a_client_shows_its_options_with_their_defaults(client: type[Any]) -> None:
    shown = inspect.signature(client).parameters
    assert {name: each.default for name, each in shown.items()} == {
        "url": None,
        **_keywords.DEFAULTS,
    }


def test_every_option_of_a_client_is_described() -> None:
    section = (inspect.getdoc(holdfast.Client.__init__) or "").partition("Args:\n")[2]
    assert re.findall(r"^ {4}(\w+): \S", section, re.MULTILINE) == ["url", *_keywords.DEFAULTS]


def test_every_option_of_a_client_is_checked() -> None:
    """Each has a type that the checks know, or its own check."""
    known = {*_options.SECONDS, *_options.COUNTS, *_options.FLAGS, *_options.TEXTS}
    assert set(_keywords.DEFAULTS) - known == {"name_prefix", "address_map"}
