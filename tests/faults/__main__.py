"""Prints the tests and the planted breaks of each fault of docs/faults.md.

    python -m tests.faults             # of all faults; with numbers only of those

A test is of the faults that the beginning of its docstring names: `17, 18: ...`, or `Fault 17.`
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from tests.deployments.breaks import BREAKS as TOPOLOGY_BREAKS
from tests.faults.breaks import BREAKS
from tools.lint.tree import ROOT

ALL_BREAKS = (*BREAKS, *TOPOLOGY_BREAKS)
_PAGE = ROOT / "docs" / "faults.md"
_NUMBERS = re.compile(r"(?:Faults? )?((?:I?\d+, )*I?\d+)[:.](?=\s|$)")


def faults() -> dict[int, str]:
    """Returns the title of each fault of the page."""
    titles = re.findall(r"^### (\d+)\. (.+)$", _PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {int(number): title for number, title in titles}


def by_fault() -> dict[int, list[str]]:
    """Returns the tests that name each fault, as `folder/file.py::test`, from tests/ on."""
    found: dict[int, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        place = path.relative_to(ROOT / "tests").as_posix()
        for name, numbers in named(path.read_text(encoding="utf-8")):
            for number in numbers:
                found.setdefault(number, []).append(f"{place}::{name}")
    return found


def named(source: str) -> Iterator[tuple[str, list[int]]]:
    """Finds the test functions whose docstring begins with numbers of faults."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            match = _NUMBERS.match(ast.get_docstring(node) or "")
            if match and node.name.startswith("test_"):
                yield node.name, [int(part) for part in match[1].split(", ") if part.isdigit()]


def main(wanted: list[str]) -> int:
    tests_of, titles = by_fault(), faults()
    numbers = [int(number) for number in wanted] or list(titles)
    for number in numbers:
        print(f"{number}. {titles[number]}")
        for each in ALL_BREAKS:
            if number in each.rows:
                print(f"    break: {each.what}")
        for test in tests_of.get(number, []):
            print(f"    {test}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
