"""Every variable of the environment that the code reads or sets is on its page."""

from __future__ import annotations

import re

from tools.lint.tree import ROOT, files

PAGE = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
VARIABLE = re.compile(r"\b_?HOLDFAST_[A-Z_]+\b")


def test_every_variable_of_the_packages_is_on_the_page() -> None:
    found: set[str] = set()
    for path in files():
        if path.parts[0] == "python" and path.suffix == ".py":
            found |= {*VARIABLE.findall((ROOT / path).read_text(encoding="utf-8"))}
    assert len(found) > 5
    assert found - {*VARIABLE.findall(PAGE)} == set()


def test_the_page_has_no_variable_that_nothing_reads() -> None:
    sources = [path for path in files() if path.parts[0] == "python" and path.suffix == ".py"]
    text = "".join((ROOT / path).read_text(encoding="utf-8") for path in sources)
    assert [name for name in {*VARIABLE.findall(PAGE)} if name not in text] == []
