"""What README.md shows on the site's first page, and that it leads to each guide."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from tools.lint.tree import ROOT
from tools.readme import on_page_markdown, part

README = (ROOT / "README.md").read_text(encoding="utf-8")
INDEX = SimpleNamespace(file=SimpleNamespace(src_uri="index.md"))


def test_the_first_page_shows_the_readmes_first_screen() -> None:
    page = on_page_markdown("<!-- README: first -->\n<!-- README: about -->\n", page=INDEX)
    assert 'with client.lock("myLock"):' in page
    assert "](guard.md)" in page
    assert "](docs/" not in page


def test_the_readmes_first_screen_has_ten_lines_of_text() -> None:
    """Up to the first paragraph of details: what it is, how it looks, where to go."""
    screen = README.partition("![The demo")[0]
    lines = [line for line in screen.splitlines() if line and not line.startswith(("<!--", "```"))]
    assert len(lines) <= 10


def test_other_pages_stay_as_they_are() -> None:
    other = SimpleNamespace(file=SimpleNamespace(src_uri="start.md"))
    assert on_page_markdown("<!-- README: first -->", page=other) == "<!-- README: first -->"


def test_a_part_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"README\.md has no part 'last'"):
        part(README, "last")


def test_every_guide_is_linked() -> None:
    linked = set(re.findall(r"\]\((guides/[\w-]+\.md)\)", part(README, "guides")))
    assert linked == {f"guides/{path.name}" for path in (ROOT / "docs/guides").glob("*.md")}
