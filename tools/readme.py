"""Shows parts of README.md on the site's first page, and facts in each header; called by mkdocs.

A part lies between ``<!-- start: name -->`` and ``<!-- end: name -->``; the page names it by
``<!-- README: name -->``. Links lead from the checkout there, and from ``docs`` on the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

README = Path(__file__).resolve().parents[1] / "README.md"
PROJECT = README.with_name("pyproject.toml")
PAGE = "index.md"
#: The header's part before which the facts stand.
PALETTE = '<form class="md-header__option" data-md-component="palette">'
WANTED = re.compile(r"<!-- README: ([\w-]+) -->")


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Puts the parts in place on the first page; called by mkdocs."""
    if page.file.src_uri != PAGE:
        return markdown
    readme = README.read_text(encoding="utf-8")
    return WANTED.sub(lambda wanted: part(readme, wanted[1]), markdown)


def on_post_page(output: str, *, page: Any, **_: object) -> str:
    """Puts version, licence and support into the header of each page; called by mkdocs."""
    up = "../" * page.url.count("/")
    found = re.search(r'^version = "(.+)"$', PROJECT.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    facts = (
        f'<div class="facts"><a href="{up}support.html#alpha">{found[1]} alpha</a>'
        f'<a href="{up}support.html#the-name">MIT</a><a href="{up}support.html">Support</a></div>'
    )
    return output.replace(PALETTE, facts + PALETTE, 1)


def part(readme: str, name: str) -> str:
    """Returns a part with its links as they are in docs; raises ValueError if there is none."""
    found = re.search(rf"<!-- start: {name} -->\n(.*?)<!-- end: {name} -->", readme, re.DOTALL)
    if found is None:
        raise ValueError(f"{README.name} has no part {name!r}")
    return found[1].replace("](docs/", "](")
