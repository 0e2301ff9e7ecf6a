"""Each fault of docs/faults.md has tests that name it, and a break that still can be made."""

from __future__ import annotations

import re

import pytest

from tests.faults.__main__ import ALL_BREAKS, by_fault, faults, main, named
from tests.support.breaking import SUITES, Break, all_breaks, edited, path_of, read
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
    assert {fault for each in all_breaks() for fault in each.faults} - set(faults()) == set()


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


def has_test(which: Break) -> bool:
    if "/" in which.test:
        return is_there(which.test.removeprefix("nogil:"))
    if which.finder == "interleavings":
        return True
    program, _, chosen = SUITES.get(which.test, which.test).partition(":")
    folder = ROOT / "tests" / "cpp" / program.removeprefix("test_")
    text = "".join(path.read_text("utf-8") for path in folder.rglob("*.cpp"))
    words = re.findall(r"\w+", chosen)
    return bool(text) and all(re.search(rf"^TEST.*{word}", text, re.MULTILINE) for word in words)


def obstacle(which: Break) -> str:
    try:
        edited(which)
    except LookupError as error:
        return f"{which.name}: {error}"
    return ""


def test_every_break_can_still_be_made_and_has_its_test() -> None:
    assert len(all_breaks()) >= 273
    assert [found for each in all_breaks() if (found := obstacle(each))] == []
    assert [each.name for each in all_breaks() if not has_test(each)] == []


def test_each_break_has_an_identifier_that_is_no_fault() -> None:
    names = [each.name for each in all_breaks()]
    assert len({*names, *faults()}) == len(names) + len(faults())


SAMPLE = """# About.

[one] what it is
faults: lost-reply, slow-link
test: tests/faults/test_it.py::test_it
@ client/connection.cpp
- old
-
- of three lines
+
- other
+ new
@ hold.lua
- last
+
"""


def test_a_break_is_read_with_its_edits() -> None:
    [one] = read(SAMPLE)
    assert (one.name, one.what, one.finder) == ("one", "what it is", "pytest")
    assert one.faults == ("lost-reply", "slow-link")
    assert one.edits == (
        ("client/connection.cpp", "old\n\nof three lines", ""),
        ("client/connection.cpp", "other", "new"),
        ("hold.lua", "last", ""),
    )


@pytest.mark.parametrize("line", ["  more", "one", "= x"])
def test_a_line_that_is_none_of_a_break_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match="no line of an edit"):
        list(read(f"{SAMPLE}{line}\n"))


@pytest.mark.parametrize(
    ("file", "reason"), [("__init__.py", " and "), ("gone.cpp", "is no file of cmake, cpp")]
)
def test_a_file_that_is_not_one_is_an_error(file: str, reason: str) -> None:
    with pytest.raises(LookupError, match=reason):
        path_of(file)
