"""What docs/faults.md and its appendix name is there: tests, and breaks that still can be made."""

from __future__ import annotations

import re

from tests.deployments.breaks import BREAKS as TOPOLOGY_BREAKS
from tests.faults.breaks import BREAKS
from tests.faults.first_step_breaks import BREAKS as FIRST_STEP_BREAKS
from tests.faults.guard_breaks import PROCESS, RECORDS
from tests.faults.interleaving_breaks import BREAKS as INTERLEAVING_BREAKS
from tests.faults.renewal_breaks import BATCHES
from tests.support.breaking import Break
from tools.lint.tree import ROOT

FAULTS = re.findall(
    r"^### ((\d+)\. .+)\n", (ROOT / "docs" / "faults.md").read_text(encoding="utf-8"), re.MULTILINE
)
APPENDIX = (ROOT / "docs" / "faults-tests.md").read_text(encoding="utf-8")
#: Of each fault its title, its break and its tests.
SECTIONS = {
    int(number): (title, " ".join(what.split()), re.findall(r"`([^`]*::[^`]*)`", tests))
    for title, number, what, tests in re.findall(
        r"^## ((\d+)\. .+)\n\nBreak: ([^#]+?)\.\n\n((?:[-`\s][^#]*)?)", APPENDIX, re.MULTILINE
    )
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


def test_all_faults_are_there() -> None:
    assert sorted(int(number) for _, number in FAULTS) == list(range(1, 68))


def test_every_fault_has_its_tests_and_break_on_the_other_page() -> None:
    assert [title for title, _ in FAULTS] == [title for title, _, _ in SECTIONS.values()]


def test_every_fault_names_tests_that_exist() -> None:
    tests = {number: named for number, (_, _, named) in SECTIONS.items()}
    assert [number for number, named in tests.items() if not named] == []
    assert [test for named in tests.values() for test in named if not is_there(test)] == []


def test_every_fault_names_its_break() -> None:
    first_wins = reversed((*BREAKS, *TOPOLOGY_BREAKS))
    known = {row: each.what for each in first_wins for row in each.rows}
    wrong = [number for number, (_, what, _) in SECTIONS.items() if what != known.get(number)]
    assert wrong == []


def test_every_break_of_several_servers_is_listed() -> None:
    listed = [
        f"| {', '.join(map(str, each.rows))} | {each.what} | `{each.test.removeprefix('tests/')}` |"
        for each in TOPOLOGY_BREAKS
    ]
    assert [line for line in listed if line not in APPENDIX.splitlines()] == []


def test_every_break_can_still_be_made() -> None:
    by_pytest = [each for each in (*BREAKS, *TOPOLOGY_BREAKS) if not is_there(place_of(each))]
    in_cpp = (*FIRST_STEP_BREAKS, *INTERLEAVING_BREAKS, *RECORDS, *PROCESS, *BATCHES)
    applied = (*BREAKS, *TOPOLOGY_BREAKS, *in_cpp)
    assert [each.what for each in (*by_pytest, *(e for e in applied if not can_be_made(e)))] == []


def place_of(which: Break) -> str:
    return which.test.removeprefix("tests/")


def can_be_made(which: Break) -> bool:
    text = (ROOT / which.file).read_text(encoding="utf-8")
    return all(text.count(old) == 1 for old, _ in which.edits)
