"""Shows parts of README.md on the site's first page: ``mkdocs`` calls ``on_page_markdown``.

A part lies between ``<!-- start: name -->`` and ``<!-- end: name -->``; the page names it by
``<!-- README: name -->``. Links lead from the checkout there, and from ``docs`` on the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

README = Path(__file__).resolve().parents[1] / "README.md"
PAGE = "index.md"
WANTED = re.compile(r"<!-- README: ([\w-]+) -->")


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Puts the parts in place on the first page; called by mkdocs."""
    if page.file.src_uri != PAGE:
        return markdown
    readme = README.read_text(encoding="utf-8")
    return WANTED.sub(lambda wanted: part(readme, wanted[1]), markdown)


def part(readme: str, name: str) -> str:
    """Returns a part with its links as they are in docs; raises ValueError if there is none."""
    found = re.search(rf"<!-- start: {name} -->\n(.*?)<!-- end: {name} -->", readme, re.DOTALL)
    if found is None:
        raise ValueError(f"{README.name} has no part {name!r}")
    return found[1].replace("](docs/", "](")
