"""Each fault of docs/faults.md has tests that name it, and a break that still can be made."""

from __future__ import annotations

import re

import pytest

from tests.faults.__main__ import ALL_BREAKS, by_fault, faults, main, named
from tests.faults.first_step_breaks import BREAKS as FIRST_STEP_BREAKS
from tests.faults.guard_breaks import PROCESS, RECORDS
from tests.faults.interleaving_breaks import BREAKS as INTERLEAVING_BREAKS
from tests.faults.renewal_breaks import BATCHES
from tests.support.breaking import Break
from tools.lint.tree import ROOT


def is_there(test: str) -> bool:
    """`tests/folder/file.py::test_name`."""
    path, _, name = test.partition("::")
    file = ROOT / path
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE) is not None


def test_all_faults_are_there() -> None:
    assert sorted(faults()) == list(range(1, 71))


def test_every_fault_has_a_test_that_names_it() -> None:
    assert set(faults()) - set(by_fault()) == set()


def test_no_test_names_a_fault_that_is_not_there() -> None:
    assert set(by_fault()) - set(faults()) == set()


def test_every_fault_has_a_break() -> None:
    assert set(faults()) - {row for each in ALL_BREAKS for row in each.rows} == set()


def test_the_docstring_of_a_test_names_its_faults() -> None:
    source = """
def test_one():
    "17, I4: with text."
async def test_two():
    "Faults 18, 19."
def test_three():
    "100 tasks wait."
def helper():
    "17: no test."
"""
    assert list(named(source)) == [("test_one", [17]), ("test_two", [18, 19])]


def test_the_command_prints_the_tests_of_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["8"]) == 0
    printed = capsys.readouterr().out
    assert "    break: the names of the remaining holds are not reported\n" in printed
    assert "    contract/process/test_exit.py::test_exit_names_what_was_held\n" in printed


def test_every_break_can_still_be_made() -> None:
    by_pytest = [each for each in ALL_BREAKS if not is_there(each.test)]
    in_cpp = (*FIRST_STEP_BREAKS, *INTERLEAVING_BREAKS, *RECORDS, *PROCESS, *BATCHES)
    applied = (*ALL_BREAKS, *in_cpp)
    assert [each.what for each in (*by_pytest, *(e for e in applied if not can_be_made(e)))] == []


def can_be_made(which: Break) -> bool:
    text = (ROOT / which.file).read_text(encoding="utf-8")
    return all(text.count(old) == 1 for old, _ in which.edits)
