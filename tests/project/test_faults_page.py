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

PAGE = ROOT / "docs" / "faults.md"


def is_there(test: str) -> bool:
    """`tests/folder/file.py::test_name`."""
    path, _, name = test.partition("::")
    file = ROOT / path
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE) is not None


def test_all_faults_are_there_in_five_groups() -> None:
    assert len(faults()) == 70
    assert len(re.findall(r"^## ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)) == 5


def test_the_identifier_of_a_fault_is_the_anchor_of_its_heading() -> None:
    shown = [fault for fault in faults() if not re.fullmatch(r"[a-z]+(-[a-z]+){1,4}", fault)]
    assert shown == []


def test_no_identifier_is_a_part_of_another() -> None:
    known = faults()
    assert [(one, more) for one in known for more in known if one != more and one in more] == []


def test_every_fault_has_a_test_that_names_it() -> None:
    assert set(faults()) - set(by_fault()) == set()


def test_no_test_names_a_fault_that_is_not_there() -> None:
    assert set(by_fault()) - set(faults()) == set()


def test_every_fault_has_a_break() -> None:
    assert set(faults()) - {fault for each in ALL_BREAKS for fault in each.faults} == set()


def test_no_break_names_a_fault_that_is_not_there() -> None:
    of_others = (*FIRST_STEP_BREAKS, *INTERLEAVING_BREAKS, *RECORDS, *PROCESS, *BATCHES)
    named_there = {fault for each in (*ALL_BREAKS, *of_others) for fault in each.faults}
    assert named_there - set(faults()) == set()


def test_the_docstring_of_a_test_names_its_faults() -> None:
    source = """
def test_one():
    "lost-reply, I4: with text."
async def test_two():
    "lost-release, slow-link."
def test_three():
    "a hundred tasks: they wait."
def helper():
    "lost-reply: no test."
"""
    assert list(named(source)) == [
        ("test_one", ["lost-reply"]),
        ("test_two", ["lost-release", "slow-link"]),
    ]


def test_the_command_prints_the_tests_of_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["interpreter"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("interpreter-exit\n")
    assert "    break: the names of the remaining holds are not reported\n" in printed
    assert "    contract/process/test_exit.py::test_exit_names_what_was_held\n" in printed


def test_the_command_says_that_there_is_no_such_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["13"]) == 1
    assert "'13'" in capsys.readouterr().err


def test_every_break_can_still_be_made() -> None:
    by_pytest = [each for each in ALL_BREAKS if not is_there(each.test)]
    in_cpp = (*FIRST_STEP_BREAKS, *INTERLEAVING_BREAKS, *RECORDS, *PROCESS, *BATCHES)
    applied = (*ALL_BREAKS, *in_cpp)
    assert [each.what for each in (*by_pytest, *(e for e in applied if not can_be_made(e)))] == []


def can_be_made(which: Break) -> bool:
    text = (ROOT / which.file).read_text(encoding="utf-8")
    return all(text.count(old) == 1 for old, _ in which.edits)
