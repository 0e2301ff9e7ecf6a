"""Writes the figures of a measurement of coverage into ``tests/README.md``, and prints them.

Arguments: the summary of gcovr, and the report of coverage.py, both as JSON.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

PAGE = Path("tests/README.md")
ROW = "| {part} | {lines:.1f} % | {branches:.1f} % |"


def rows(cpp: dict[str, Any], python: dict[str, Any]) -> dict[str, str]:
    """The rows of the table, by what they begin with."""
    totals = python["totals"]
    branches = 100 * totals["covered_branches"] / max(totals["num_branches"], 1)
    lines = 100 * totals["covered_lines"] / max(totals["num_statements"], 1)
    measured = {
        "C++, by the C++ tests": (cpp["line_percent"], cpp["branch_percent"]),
        "Python, by the quick run": (lines, branches),
    }
    return {
        part: ROW.format(part=part, lines=each[0], branches=each[1])
        for part, each in measured.items()
    }


def main() -> None:
    """Replace the rows of the page."""
    cpp, python = (json.loads(Path(name).read_bytes()) for name in sys.argv[1:])
    text = PAGE.read_text(encoding="utf-8")
    for part, row in rows(cpp, python).items():
        text = re.sub(rf"^\| {re.escape(part)} \|.*$", row, text, flags=re.MULTILINE)
        print(row)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
