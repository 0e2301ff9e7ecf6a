"""Every record that the library writes to the log has a row on the page of operations."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from holdfast._engine.log import About
from holdfast._engine.records import ENTRIES, LOST_MEMBER, LOST_MINORITY
from tools.lint.tree import ROOT

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "python" / "holdfast"
WRITES = {"warning", "error", "info", "exception", "log_warning", "log_error"}
NAMES_EVENT = {"About", "_for_log", "about"}
PLACE = re.compile(r"%\(\w+\)s|%[rsdg]")
#: Of the loggers below ``holdfast``, which have their own guides.
GUIDES = {"celery.py", "redis_py.py"}


def calls() -> Iterator[ast.Call]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name not in GUIDES:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def literals(call: ast.Call) -> Iterator[str]:
    for given in call.args:
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            yield given.value


def name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def words(text: str) -> str:
    """The words of a record that a row must show: its first clause of some length."""
    parts = [clause for part in PLACE.split(text) for clause in re.split(r"[;:(]", part)]
    return next((part for each in parts if len(part := each.strip(" ,")) >= 10), "")


def rows() -> str:
    return PAGE.partition("## Records of the log\n")[2].partition("\n## ")[0]


@pytest.fixture(scope="module")
def written() -> list[ast.Call]:
    return list(calls())


def test_each_record_has_its_row(written: list[ast.Call]) -> None:
    texts = [text for _, text in [*ENTRIES.values(), LOST_MEMBER, LOST_MINORITY]]
    texts += [text for call in written if name_of(call.func) in WRITES for text in literals(call)]
    records = {found for text in texts if (found := words(text))}
    assert len(records) > 10
    assert [record for record in sorted(records) if record not in rows()] == []


def test_the_events_of_the_page_are_those_of_the_library(written: list[ast.Call]) -> None:
    events = {
        text for call in written if name_of(call.func) in NAMES_EVENT for text in literals(call)
    }
    events |= {*ENTRIES, "lost_member", "lost_minority"}
    named = re.findall(r"^\| [A-Z]+ \| (.*?) \|", rows(), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(named))) == events


def test_each_field_has_its_row() -> None:
    assert sorted(re.findall(r"`holdfast_(\w+)`", rows())) == sorted(About.__slots__)
