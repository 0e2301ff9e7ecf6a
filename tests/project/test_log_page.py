"""Every record that the library writes to the log has a row on the page of operations."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from holdfast._engine.events import ENTRIES, LOST_MEMBER, LOST_MINORITY
from tools.lint.tree import ROOT

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "python" / "holdfast"
WRITES = {"warning", "error", "info", "log_warning", "log_error"}
PLACE = re.compile(r"%\(\w+\)s|%[rsdg]")


def records() -> Iterator[str]:
    """The texts of all records, with their places to be filled in."""
    yield from (text for _, text in [*ENTRIES.values(), LOST_MEMBER, LOST_MINORITY])
    for path in sorted(PACKAGE.rglob("*.py")):
        if "contrib" in path.parts:
            continue  # the guides have those of a framework
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and name_of(node.func) in WRITES:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield first.value


def name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def words(text: str) -> str:
    """The words of a record that a row must show: its first clause of some length."""
    parts = [clause for part in PLACE.split(text) for clause in re.split(r"[;:(]", part)]
    return next((part for each in parts if len(part := each.strip(" ,")) >= 10), "")


RECORDS = sorted({found for text in records() if (found := words(text))})


def rows() -> str:
    return PAGE.partition("## Records of the log\n")[2].partition("\n## ")[0]


def test_there_are_records() -> None:
    assert len(RECORDS) > 10


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_has_its_row(record: str) -> None:
    assert record in rows()
