"""What ThreadSanitizer is not to report is a function that is there, under this name."""

from __future__ import annotations

import re

import pytest

from tools.lint.tree import ROOT

FUNCTIONS = re.findall(
    r"^race:holdfast::(?:\w+::)*(\w+::\w+)$",
    (ROOT / "cmake" / "tsan.supp").read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_suppressed_function_is_there(function: str) -> None:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "cpp").rglob("*.cpp"))
    assert any(f" {function}(" in source for source in sources)


def test_there_is_a_suppression() -> None:
    assert FUNCTIONS
