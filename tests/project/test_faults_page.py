"""What docs/faults.md names is there: its rows, their tests, and breaks that still can be made."""

from __future__ import annotations

import re

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
    assert sorted(ROWS) == list(range(1, 62))


def test_every_row_names_tests_that_exist() -> None:
    tests = {row: re.findall(r"`([^`]*::[^`]*)`", cells[6]) for row, cells in ROWS.items()}
    assert [row for row, named in tests.items() if not named] == []
    assert [test for named in tests.values() for test in named if not is_there(test)] == []


def test_every_row_names_its_break() -> None:
    first_wins = reversed((*BREAKS, *TOPOLOGY_BREAKS))
    known = {row: each.what for each in first_wins for row in each.rows}
    assert [row for row, cells in ROWS.items() if cells[7] != known.get(row)] == []


def test_every_break_of_several_servers_is_listed() -> None:
    listed = [
        f"| {', '.join(map(str, each.rows))} | {each.what} | `{each.test.removeprefix('tests/')}` |"
        for each in TOPOLOGY_BREAKS
    ]
    assert [line for line in listed if line not in PAGE.splitlines()] == []


def test_every_break_can_still_be_made() -> None:
    assert [each.what for each in (*BREAKS, *TOPOLOGY_BREAKS) if not can_be_made(each)] == []


def can_be_made(which: Break) -> bool:
    text = (ROOT / which.file).read_text(encoding="utf-8")
    found_once = all(text.count(old) == 1 for old, _ in which.edits)
    return found_once and is_there(which.test.removeprefix("tests/"))
