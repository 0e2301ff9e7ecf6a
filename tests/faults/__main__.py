"""Prints the tests and the planted breaks of each fault of docs/faults.md.

    python -m tests.faults                 # of all faults
    python -m tests.faults lost-reply      # of one
    python -m tests.faults failover clock  # of those with these words in their identifiers

The identifier of a fault is the anchor of its heading. A test is of the faults that the beginning
of its docstring names: `lost-reply, lost-release: ...`, or `lost-reply.`
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache

from tests.support.breaking import all_breaks
from tools.lint.tree import ROOT

ALL_BREAKS = tuple(each for each in all_breaks() if each.finder == "pytest")
_PAGE = ROOT / "docs" / "faults.md"
# The invariants of README.md, as I7, are no faults.
_NAMES = re.compile(r"((?:(?:[a-z]+(?:-[a-z]+)+|I\d), )*(?:[a-z]+(?:-[a-z]+)+|I\d))[:.](?=\s|$)")


def faults() -> dict[str, str]:
    """Returns the name of each fault of the page, by its identifier."""
    names = re.findall(r"^### (.+)$", _PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name.lower().replace(" ", "-"): name for name in names}


@cache
def by_fault() -> dict[str, list[str]]:
    """Returns the tests that name each fault, as `folder/file.py::test`, from tests/ on."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        place = path.relative_to(ROOT / "tests").as_posix()
        for name, its_faults in named(path.read_text(encoding="utf-8")):
            for fault in its_faults:
                found.setdefault(fault, []).append(f"{place}::{name}")
    return found


def named(source: str) -> Iterator[tuple[str, list[str]]]:
    """Finds the test functions whose docstring begins with identifiers of faults."""
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            match = _NAMES.match(ast.get_docstring(node) or "")
            if match and node.name.startswith("test_"):
                yield node.name, [part for part in match[1].split(", ") if "-" in part]


def main(wanted: list[str]) -> int:
    tests_of, known = by_fault(), faults()
    for part in wanted:
        if not any(part in fault for fault in known):
            print(f"no fault of docs/faults.md has {part!r} in its identifier", file=sys.stderr)
            return 1
    for fault in known:
        if wanted and not any(part in fault for part in wanted):
            continue
        print(fault)
        for each in ALL_BREAKS:
            if fault in each.faults:
                print(f"    break: {each.what}")
        for test in tests_of.get(fault, []):
            print(f"    {test}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
