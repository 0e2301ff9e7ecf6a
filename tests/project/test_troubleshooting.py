"""The messages on the page of troubleshooting are those of the code."""

from __future__ import annotations

import re
from functools import cache

from tools.lint.tree import ROOT, files

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ((?:`[^|]+`|[^|`])+?) \| ", re.MULTILINE)
#: Between adjacent literals.
SEAM = re.compile(r'"\s*\n?\s*f?"')
FILLED_IN = re.compile(r"\{[^{}]*\}")
#: Of the operating system and of Python.
FOREIGN = {"Connection refused", "has no attribute"}


@cache
def sources() -> str:
    wanted = {".py", ".cpp", ".h", ".cmake"}
    paths = [path for path in files() if path.parts[0] in {"python", "cpp", "cmake"}]
    texts = []
    for path in paths:
        if path.suffix in wanted:
            text = SEAM.sub("", (ROOT / path).read_text(encoding="utf-8"))
            texts.append(FILLED_IN.sub("{}", text) if path.suffix == ".py" else text)
    return "\n".join(texts)


def pieces(row: str) -> list[str]:
    """The words of a message between what differs, without very short ones."""
    parts = re.split(r"…|'|`|: |[;()]", row)
    return [each for part in parts if len(each := part.strip(" .,?")) >= 12]


ROWS = [row for row in ROW.findall(PAGE) if row.startswith("`")]


def test_each_message_is_one_of_the_code() -> None:
    assert len(ROWS) > 40
    parts = {part for row in ROWS for part in pieces(row)} - FOREIGN
    assert {part for part in parts if part not in sources()} == set()
