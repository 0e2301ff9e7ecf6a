"""The stub of the native module names what the module has, and nothing else."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import _core, _keywords, _options

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


def test_the_keywords_of_a_client_are_its_options() -> None:
    """What type checkers know of is what is understood, and the reverse."""
    assert set(_keywords.Keywords.__annotations__) == set(_options.DEFAULTS)
