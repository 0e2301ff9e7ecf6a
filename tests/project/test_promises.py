"""The price list, and that the check which keeps it can see."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import promises
from tools.promises import Promise

ROW = Promise("A hold is trusted", "locks/lease/*", "2", first=2, lines=3, added="its age is known")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(promises, "PROMISES", (ROW,))
    for name, text in {
        "cpp/locks/lease/hold.h": "// What it is.\n\nint a;\nint b;\nint c;  // code\n",
        "docs/promises.md": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (tmp_path / "docs/promises.md").write_text(promises.made(tmp_path))
    return tmp_path


def test_each_fault_is_in_a_row() -> None:
    every = {fault for row in promises.PROMISES for fault in row.faults}
    from tests.faults.__main__ import faults

    assert every == set(faults())


def test_lines_that_are_priced_pass(tree: Path) -> None:
    assert promises.check(tree) == []


def test_lines_that_no_row_prices_are_named(tree: Path) -> None:
    with (tree / "cpp/locks/lease/hold.h").open("a") as file:
        file.write("int d;\n")
    [problem, page] = promises.check(tree)
    assert "'A hold is trusted' has 4 lines, 3 are priced" in problem
    assert "docs/promises.md is not what" in page


def test_a_file_without_a_row_is_named(tree: Path) -> None:
    (tree / "cpp/redis/base").mkdir(parents=True)
    (tree / "cpp/redis/base/clock.h").write_text("")
    assert "cpp/redis/base/clock.h: no row" in promises.check(tree)[0]


def test_a_row_that_grew_says_for_what(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promises, "PROMISES", (ROW._replace(added=""),))
    assert any("grew: say in `added` for what" in each for each in promises.check(tree))
