"""What docs/faults.md names is there: its rows, their tests, and breaks that still can be made."""

from __future__ import annotations

import re

import pytest

from tests.faults.breaks import BREAKS
from tests.support.breaking import Break
from tests.topology.breaks import BREAKS as TOPOLOGY_BREAKS
from tools.lint.tree import ROOT

PAGE = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
ROWS = {
    int(cells[1]): cells
    for cells in ([cell.strip() for cell in line.split("|")] for line in PAGE.splitlines())
    if len(cells) == 9 and cells[1].isdigit()
}


def is_there(test: str) -> bool:
    """`folder/file.py::test_name`, below tests/ or tests/faults/."""
    path, _, name = test.partition("::")
    files = [ROOT / "tests" / folder / path for folder in ("", "faults")]
    return any(
        re.search(rf"^(?:async )?def {name}\(", file.read_text(encoding="utf-8"), re.MULTILINE)
        for file in files
        if file.is_file()
    )


def test_all_rows_are_there() -> None:
    assert sorted(ROWS) == list(range(1, 42))


@pytest.mark.parametrize("row", sorted(ROWS))
def test_a_row_names_tests_that_exist(row: int) -> None:
    tests = re.findall(r"`([^`]*::[^`]*)`", ROWS[row][6])
    assert tests
    assert [test for test in tests if not is_there(test)] == []


@pytest.mark.parametrize("row", sorted(ROWS))
def test_a_row_names_its_break(row: int) -> None:
    known = next(each for each in (*BREAKS, *TOPOLOGY_BREAKS) if row in each.rows)
    assert ROWS[row][7] == known.what


def test_every_break_of_several_servers_is_listed() -> None:
    listed = [
        f"| {', '.join(map(str, each.rows))} | {each.what} | `{each.test.removeprefix('tests/')}` |"
        for each in TOPOLOGY_BREAKS
    ]
    assert [line for line in listed if line not in PAGE.splitlines()] == []


@pytest.mark.parametrize(
    "which", [*BREAKS, *TOPOLOGY_BREAKS], ids=lambda which: f"row {which.rows[0]}: {which.what}"
)
def test_a_break_can_still_be_made(which: Break) -> None:
    text = (ROOT / which.file).read_text(encoding="utf-8")
    assert [old for old, _ in which.edits if text.count(old) != 1] == []
    assert is_there(which.test.removeprefix("tests/"))
